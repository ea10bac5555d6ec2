"""Every read that others need of jobs. Nothing here writes."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any, NamedTuple
from uuid import UUID

from django.db.models import Count, Min, QuerySet
from django.db.models.functions import Left

from jobsplatform.kernel.errors import JobNotFound
from tasks.filters import JobFilter, read_id
from tasks.models import Job
from tasks.states import ACTIVE, FINAL, NEVER_RAN, CancelReason, Hold, Role, State

BIG_COLUMNS = ("params", "data", "result", "checkpoint", "error")


def get_job(job_id: UUID | str) -> Job:
    """The job with this id. Raises JobNotFound, and InvalidInput for what is no id."""
    wanted = read_id(job_id)
    job = Job.objects.select_related("leader").filter(id=wanted).first()
    if job is None:
        raise JobNotFound(wanted)
    return job


def cancel_flag(job_id: UUID, lease: int) -> CancelReason | None:
    """Why this run should stop (NONE: it need not); None when the lease is no longer held."""
    return cancel_flags([(job_id, lease)]).get((job_id, lease))


def cancel_flags(runs: Iterable[tuple[UUID, int]]) -> dict[tuple[UUID, int], CancelReason]:
    """The same for many runs in one query; runs whose lease is no longer held are missing from the answer."""
    wanted = set(runs)
    rows = Job.objects.filter(id__in=[job_id for job_id, _ in wanted], state=State.RUNNING)
    found = rows.values_list("id", "lease", "cancel_reason")
    return {
        (job_id, lease): CancelReason(reason) for job_id, lease, reason in found if (job_id, lease) in wanted
    }


@dataclass(frozen=True, slots=True)
class Page:
    """One page of jobs, newest first; ``next`` is the cursor for the following one, or None."""

    jobs: Sequence[Job]
    next: str | None


def page(
    wanted: JobFilter, *, limit: int = 50, after: str | UUID | None = None, payload: bool = True
) -> Page:
    """Jobs by a keyset: the cursor is the last id seen, so pages neither skip nor repeat rows.

    ``payload`` False leaves the large columns in the database; of an error its start is read, as ``error_start``.
    Raises InvalidInput for a cursor that is none.
    """
    rows = wanted.queryset().select_related("leader").order_by("-id")
    if after is not None:
        rows = rows.filter(id__lt=read_id(after))
    if not payload:
        rows = rows.defer(*BIG_COLUMNS, *(f"leader__{column}" for column in BIG_COLUMNS))
        rows = rows.annotate(error_start=Left("error", 200))
    found = list(rows[: limit + 1])
    return Page(found[:limit], str(found[limit - 1].id) if len(found) > limit else None)


def count_capped(rows: QuerySet[Any], cap: int = 10_000) -> tuple[int, bool]:
    """How many rows, counted no further than ``cap``; the second value says whether it is exact."""
    counted = rows.order_by().values("pk")[: cap + 1].count()
    return (cap, False) if counted > cap else (counted, True)


def shown_job(job: Job) -> Job:
    """The job whose status, progress and result are shown: an alias shows its leader's, unless it was ended alone."""
    if job.role == Role.ALIAS and job.leader is not None and job.state in (State.PENDING, job.leader.state):
        return job.leader
    return job


def children_summary(parent_id: UUID) -> dict[str, Any]:
    """How many children in each state, ``total``, ``done`` (ended) and ``pct`` (0-100, None without children)."""
    found = summary(Job.objects.filter(parent_id=parent_id))
    by_state: dict[str, Any] = found.pop("by_state")
    return {**by_state, **found}


def summary(rows: QuerySet[Job]) -> dict[str, Any]:
    """The same of any jobs, with the states in ``by_state``."""
    counted = dict(rows.values_list("state").annotate(n=Count("*")).order_by())
    total = sum(counted.values())
    done = sum(counted.get(state, 0) for state in FINAL)
    return {
        "total": total,
        "by_state": {str(state): counted.get(state, 0) for state in State},
        "done": done,
        "pct": round(100 * done / total, 1) if total else None,
    }


def children_of(parent_id: UUID) -> QuerySet[Job]:
    """The children of a job, oldest first."""
    return Job.objects.filter(parent_id=parent_id).order_by("id")


def descendants(job_id: UUID) -> Iterator[UUID]:
    """Active descendants, parents before their children."""
    layer = [job_id]
    while layer:
        rows = Job.objects.filter(parent_id__in=layer)
        layer = list(rows.order_by("id").values_list("id", flat=True))
        active = set(rows.filter(state__in=sorted(ACTIVE)).values_list("id", flat=True))
        yield from (job for job in layer if job in active)


def counts_by_state() -> dict[str, int]:
    """How many jobs are in each active state, exactly; ended ones are not counted."""
    rows = Job.objects.filter(state__in=sorted(ACTIVE)).values_list("state").annotate(n=Count("*")).order_by()
    found = dict(rows)
    return {str(state): found.get(state, 0) for state in State if state in ACTIVE}


@dataclass(frozen=True, slots=True)
class QueueStats:
    """One queue now: jobs that wait (``ready`` may start at once), in flight, and the age of the oldest ready."""

    queue: str
    pending: int
    ready: int
    in_flight: int
    oldest_seconds: float | None


def queue_stats(now: datetime) -> list[QueueStats]:
    """Depth of every queue that has active jobs."""
    active = Job.objects.filter(state__in=[State.PENDING, State.DISPATCHED, State.RUNNING])
    rows = (
        active.values_list("queue", "state", "hold").annotate(n=Count("*"), oldest=Min("due_at")).order_by()
    )
    stats: dict[str, dict[str, Any]] = {}
    for queue, state, hold, n, oldest in rows:
        entry = stats.setdefault(queue, {"pending": 0, "ready": 0, "in_flight": 0, "oldest": None})
        if state != State.PENDING:
            entry["in_flight"] += n
            continue
        entry["pending"] += n
        if hold == Hold.NONE:
            entry["ready"] += n
            entry["oldest"] = oldest if entry["oldest"] is None else min(entry["oldest"], oldest)
    return [
        QueueStats(
            queue,
            e["pending"],
            e["ready"],
            e["in_flight"],
            max(0.0, (now - e["oldest"]).total_seconds()) if e["oldest"] else None,
        )
        for queue, e in sorted(stats.items())
    ]


def unfinished_of_type(app_id: str, job_type: str) -> Job | None:
    """The oldest job of this type that has not ended, for overlap rules."""
    rows = Job.objects.filter(handler_key=f"{app_id}:{job_type}", state__in=sorted(ACTIVE))
    return rows.order_by("id").first()


def jobs_by_id(ids: Iterable[UUID]) -> dict[UUID, Job]:
    """Those of these jobs that are there, without their large columns; ``error_start`` is the start of the error."""
    wanted = set(ids)
    if not wanted:
        return {}
    rows = Job.objects.filter(id__in=wanted).defer(*BIG_COLUMNS).annotate(error_start=Left("error", 200))
    return {job.id: job for job in rows}


def states_of(ids: Iterable[UUID]) -> dict[UUID, State]:
    """The states of those of these jobs that are there."""
    wanted = set(ids)
    if not wanted:
        return {}
    return {
        job_id: State(state) for job_id, state in Job.objects.filter(id__in=wanted).values_list("id", "state")
    }


def last_of_schedule(schedule_id: str, tenant_id: str) -> Job | None:
    """The job of this schedule that came last: the newest unfinished one, else the one that ended last."""
    rows = Job.objects.filter(schedule_id=schedule_id, tenant_id=tenant_id).exclude(schedule_id="")
    # In the order of its index: by their ids alone the database would walk all that have ended.
    unfinished = rows.filter(finished_at__isnull=True).order_by("-finished_at", "-id").first()
    return unfinished or rows.filter(finished_at__isnull=False).order_by("-finished_at", "-id").first()


class End(NamedTuple):
    """How a job ended."""

    id: UUID
    state: str
    cause: str
    reason: str
    finished_at: datetime


def recent_ends(schedule_id: str, tenant_id: str, n: int) -> list[End]:
    """The last ``n`` ends of a schedule's jobs, the latest first. Jobs that overlap or their latest start kept from
    running are left out: nothing of them has ended well or badly."""
    rows = Job.objects.filter(schedule_id=schedule_id, tenant_id=tenant_id, finished_at__isnull=False)
    rows = rows.exclude(schedule_id="").exclude(state=State.CANCELLED, reason__in=NEVER_RAN)
    found = rows.order_by("-finished_at", "-id").values_list("id", "state", "cause", "reason", "finished_at")
    return [End(*row) for row in found[:n]]


def unfinished_of_schedule(schedule_id: str, tenant_id: str) -> Job | None:
    """The oldest job of this schedule that has not ended."""
    rows = Job.objects.filter(schedule_id=schedule_id, tenant_id=tenant_id, finished_at__isnull=True)
    return rows.exclude(schedule_id="").order_by("finished_at", "id").first()
