"""``maintenance.find_stuck``: which work is overdue or does not move, and why."""

from __future__ import annotations

from datetime import datetime, timedelta
from typing import Annotated, Any

from django.db.models import Q, QuerySet
from pydantic import Field

from jobsplatform.kernel import clock
from tasks import queries, why
from tasks.context import JobContext
from tasks.handlers import job
from tasks.models import Job
from tasks.outcomes import Outcome
from tasks.states import Hold, State

Minutes = Annotated[int, Field(ge=1, le=525_600)]


@job(
    "maintenance.find_stuck",
    description="List jobs that are overdue, silent or not started, with the reason.",
    public_params=("pending_minutes", "silent_minutes", "dispatched_minutes", "limit"),
    exclusive=True,
    on_interrupt="cancel",
)
def find_stuck(
    context: JobContext,
    pending_minutes: Minutes = 15,
    silent_minutes: Minutes = 60,
    dispatched_minutes: Minutes = 2,
    limit: Annotated[int, Field(ge=1, le=500)] = 50,
) -> Outcome:
    """Report, change nothing. Three lists of at most ``limit`` jobs, the longest waiting first.

    ``overdue``: pending, and due for more than ``pending_minutes``. ``silent``: running, without progress for
    ``silent_minutes``. ``not_started``: sent to a worker ``dispatched_minutes`` ago. Counts above 10,000 are
    not exact. The outcome's count is the sum.
    """
    now = clock.now()
    groups = {
        "overdue": overdue(now - timedelta(minutes=pending_minutes)),
        "silent": silent(now - timedelta(minutes=silent_minutes)).exclude(pk=context.id),
        "not_started": not_started(now - timedelta(minutes=dispatched_minutes)),
    }
    result: dict[str, Any] = {}
    total = 0
    for name, rows in groups.items():
        context.check_cancel()
        count, exact = queries.count_capped(rows)
        result[name] = {
            "count": count,
            "exact": exact,
            "jobs": [_told(name, row, now) for row in rows.order_by(_SINCE[name], "id")[:limit]],
        }
        total += count
    return Outcome(result, count=total)


def overdue(due_before: datetime) -> QuerySet[Job]:
    """Pending jobs that might have started; those held back for an alias or for later are not due."""
    return Job.objects.filter(state=State.PENDING, due_at__lt=due_before).exclude(
        hold__in=[Hold.ALIAS, Hold.SUCCESSOR, Hold.LATER]
    )


def silent(quiet_since: datetime) -> QuerySet[Job]:
    """Running jobs that have told nothing since; a type that tells no progress counts from its start."""
    quiet = Q(progress_at__lt=quiet_since) | Q(progress_at__isnull=True)
    return Job.objects.filter(quiet, state=State.RUNNING, started_at__lt=quiet_since)


def not_started(sent_before: datetime) -> QuerySet[Job]:
    """Jobs whose message was sent and which have not begun."""
    return Job.objects.filter(state=State.DISPATCHED, dispatched_at__lt=sent_before)


_SINCE = {"overdue": "due_at", "silent": "started_at", "not_started": "dispatched_at"}


def _told(group: str, row: Job, now: datetime) -> dict[str, Any]:
    since = getattr(row, _SINCE[group]) if group != "silent" else row.progress_at or row.started_at
    told = {
        "id": str(row.id),
        "job_type": row.handler_key.lstrip(":"),
        "queue": row.queue,
        "since": since.isoformat(),
        "minutes": int((now - since).total_seconds() // 60),
        "attempt": row.attempt,
    }
    if group == "silent":
        told["label"] = row.progress_label
        told["why"] = "runs without progress"
    else:
        told["why"] = why.why_not_running(row, now)
    return told
