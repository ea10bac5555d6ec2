"""The trigger log as it is shown: rows joined with what became of their jobs, and pages of them by a keyset."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import TYPE_CHECKING
from uuid import UUID

from django.db.models import Q, QuerySet

from jobsplatform.kernel import instants
from jobsplatform.kernel.errors import InvalidInput
from scheduler.lateness import Lateness, lateness
from scheduler.models import ScheduleTriggerLog
from scheduler.outcomes import Outcome, outcome
from scheduler.states import Status
from tasks import queries

if TYPE_CHECKING:
    from tasks.models import Job


@dataclass(frozen=True, slots=True)
class Entry:
    """A decision and what became of it. ``job`` lacks its large columns; None when there is none (any more)."""

    row: ScheduleTriggerLog
    job: Job | None
    outcome: Outcome

    @property
    def lateness(self) -> Lateness | None:
        """Where the time went, for a slot that fired."""
        row, job = self.row, self.job
        if row.planned_at is None or row.status != Status.FIRED:
            return None
        if instants.unreadable(row.planned_at) or instants.unreadable(row.triggered_at):
            return None
        if job is None:
            return lateness(row.planned_at, row.triggered_at)
        return lateness(
            row.planned_at, row.triggered_at, job.run_after, job.dispatched_at, job.first_started_at
        )


def entries(rows: Iterable[ScheduleTriggerLog]) -> list[Entry]:
    """These rows, in their order, with their jobs: one more query, however many rows."""
    found = list(rows)
    jobs = queries.jobs_by_id(row.task_id for row in found if row.task_id is not None)
    return [_entry(row, jobs.get(row.task_id) if row.task_id else None) for row in found]


def outcome_of(row: ScheduleTriggerLog) -> Outcome:
    """What became of one row. For many, ask ``entries``."""
    return entries([row])[0].outcome


def _entry(row: ScheduleTriggerLog, job: Job | None) -> Entry:
    return Entry(row, job, outcome(row, job))


@dataclass(frozen=True, slots=True)
class LogFilter:
    """Decisions that match all that is given. ``since`` is inclusive, ``until`` exclusive, both of the decision."""

    schedule_id: str = ""
    tenant_id: str | None = None
    statuses: tuple[Status, ...] = ()
    origin: str = ""  # auto, manual, backfill, or a whole origin
    since: datetime | None = None
    until: datetime | None = None

    def queryset(self) -> QuerySet[ScheduleTriggerLog]:
        """The matching rows, unordered."""
        rows = ScheduleTriggerLog.objects.all()
        if self.schedule_id:
            rows = rows.filter(schedule_id=self.schedule_id)
        if self.tenant_id is not None:
            rows = rows.filter(tenant_id=self.tenant_id)
        if len(self.statuses) == 1:  # so that an index of one status is found
            rows = rows.filter(status=self.statuses[0])
        elif self.statuses:
            rows = rows.filter(status__in=[str(s) for s in self.statuses])
        if self.origin in ("manual", "backfill"):
            rows = rows.filter(origin__startswith=f"{self.origin}:")
        elif self.origin:
            rows = rows.filter(origin=self.origin)
        if self.since is not None:
            rows = rows.filter(triggered_at__gte=self.since)
        if self.until is not None:
            rows = rows.filter(triggered_at__lt=self.until)
        return rows


@dataclass(frozen=True, slots=True)
class LogPage:
    """One page of decisions, newest first; ``next`` is the cursor for the following one, or None."""

    entries: Sequence[Entry]
    next: str | None


def log_page(wanted: LogFilter, *, limit: int = 50, after: str | None = None) -> LogPage:
    """Decisions by a keyset of time and id: pages neither skip nor repeat rows, and the last costs what the first does.

    Raises InvalidInput for a cursor that is none.
    """
    rows = wanted.queryset().order_by("-triggered_at", "-id")
    if after is not None:
        at, row_id = _read_cursor(after)
        rows = rows.filter(Q(triggered_at__lt=at) | Q(triggered_at=at, id__lt=row_id), triggered_at__lte=at)
    found = list(rows[: limit + 1])
    shown = found[:limit]
    return LogPage(entries(shown), _cursor(shown[-1]) if len(found) > limit else None)


def _cursor(row: ScheduleTriggerLog) -> str:
    # An infinity comes before all that can be read: the next page begins with those.
    at = instants.LATEST if instants.unreadable(row.triggered_at) else row.triggered_at
    return f"{instants.text(at)}_{row.id}"


def _read_cursor(text: str) -> tuple[datetime, UUID]:
    at, _, row_id = text.partition("_")
    try:
        instant = datetime.fromisoformat(at)
        if instant.tzinfo is None:
            raise ValueError(at)
        return instant, UUID(row_id)
    except ValueError:
        raise InvalidInput(
            f"after: expected the cursor of a page, as <instant>_<id>, got {text[:80]!r}."
        ) from None
