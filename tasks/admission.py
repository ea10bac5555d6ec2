"""Jobs that share an overlap key: who of them may start.

Level-triggered: after a submit's commit, when a job of the key has come due or has ended, and by the sweeper, the
key is looked at as a whole under its lock row, so that of two who look at once one sees what the other did.

A job is held until it was let through; from then on, through backoffs and pauses, until its end, it occupies its key.
Jobs whose time has not come, or whose tenant is not active, do not occupy it and are decided when they could start.
An alias or successor never starts by itself, so dedupe comes first; when it takes over, it is decided like others.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from datetime import datetime
from itertools import groupby
from typing import NamedTuple
from uuid import UUID

from django.db import transaction
from django.db.models import Exists, OuterRef, Q, QuerySet

from jobsplatform.kernel.db import after_commit, retry_deadlocks
from tasks import call_off, followers, hints, limits, queries, transitions
from tasks.late import is_late
from tasks.models import Job
from tasks.overlap import decide
from tasks.states import (
    REASON_LATEST_START,
    REASON_OVERLAP,
    CancelReason,
    Hold,
    Overlap,
    Priority,
    State,
)

_KEYS = 200  # locked and decided together
_SWEPT = 1000
_NOT_YET = Q(hold__in=[Hold.LATER, Hold.TENANT], lease=0)
_NOT_BY_THEMSELVES = Q(hold__in=[Hold.ALIAS, Hold.SUCCESSOR])


def admit(keys: Iterable[str], now: datetime) -> int:
    """Let through who may start now, of each of these keys; how many that were."""
    wanted, started = sorted({key for key in keys if key}), 0
    while wanted:
        part, wanted = wanted[:_KEYS], wanted[_KEYS:]
        let_through, freed = _admit(part, now)
        started += let_through
        wanted = freed + wanted
    if started:
        hints.wake()
    return started


class _Row(NamedTuple):
    id: UUID
    overlap_key: str
    overlap: str
    hold: str
    state: str
    latest_start_at: datetime | None
    first_started_at: datetime | None


def _unfinished() -> QuerySet[Job]:
    # Spelled as its index says.
    rows = Job.objects.filter(finished_at__isnull=True).exclude(overlap_key="")
    return rows.exclude(_NOT_BY_THEMSELVES).exclude(_NOT_YET)


def occupants() -> QuerySet[Job]:
    """The jobs that occupy their overlap keys."""
    return _unfinished().exclude(hold=Hold.OVERLAP)


@retry_deadlocks
@transaction.atomic
def _admit(keys: list[str], now: datetime) -> tuple[int, list[str]]:
    """How many were let through, and keys that came free meanwhile."""
    limits.take(map(limits.overlap_lock, keys))
    found = _unfinished().filter(overlap_key__in=keys).order_by("overlap_key", "due_at", "id")
    rows = map(_Row._make, found.values_list(*_Row._fields))
    start: list[UUID] = []
    drop: dict[UUID, str] = {}
    stop: list[UUID] = []
    for _, group in groupby(rows, lambda row: row.overlap_key):
        of_key = list(group)
        late = {row.id for row in of_key if is_late(row, now)}
        drop |= dict.fromkeys(late, REASON_LATEST_START)
        held = [row for row in of_key if row.hold == Hold.OVERLAP and row.id not in late]
        busy = [row.id for row in of_key if row.hold != Hold.OVERLAP and row.id not in late]
        decision = decide(bool(busy), [row.overlap for row in held])
        drop |= {held[n].id: REASON_OVERLAP for n in decision.drop}
        start += [held[decision.start].id] if decision.start is not None else []
        stop += busy if decision.stop else []
    jobs = {job.id: job for job in _locked([*start, *drop, *stop])}
    for job_id, note in drop.items():
        if job_id in jobs:
            _cancel(jobs[job_id], CancelReason.NONE, now, note)
    freed = {jobs[job_id].overlap_key for job_id in stop if job_id in jobs and _stop(jobs[job_id], now)}
    return transitions.unhold(start, Hold.OVERLAP, now) if start else 0, sorted(freed)


def _locked(job_ids: list[UUID]) -> Iterable[Job]:
    if not job_ids:
        return []
    return Job.objects.filter(id__in=job_ids).order_by("id").select_for_update()


def _cancel(job: Job, reason: CancelReason, now: datetime, note: str = "") -> bool:
    if not call_off.cancel(job, reason, now, note=note):
        return False
    after_commit(lambda: _let_go(job, now))
    return True


def _let_go(job: Job, now: datetime) -> None:
    """Whoever waits for what a cancelled job held, its overlap key and its parent apart: the key is looked at by the
    caller, and a parent in the family is cancelled as well."""
    if (key := limits.key_of(job)) is not None:
        limits.unpark(key, now)
    if job.priority >= Priority.USER_ACTION:
        followers.free_preempted(job.id, now)
    hints.wake()


def _stop(occupant: Job, now: datetime) -> bool:
    """Make an occupant and its descendants stop. True: it has ended at once."""
    ended = False
    for job in _family(occupant):
        if job.state == State.RUNNING:
            if call_off.ask_to_stop(job, CancelReason.SUPERSEDED, now):
                hints.wake()
        elif _cancel(job, CancelReason.SUPERSEDED, now):
            ended |= job is occupant
    return ended


def _family(job: Job) -> Iterator[Job]:
    yield job
    for child in queries.descendants(job.id) if job.spawned else ():
        yield from _locked([child])


def sweep(now: datetime) -> int:
    """Look again at keys where a job is held though none occupies the key, or though it was not to wait."""
    occupant = occupants().filter(overlap_key=OuterRef("overlap_key"))
    held = Job.objects.filter(finished_at__isnull=True, hold=Hold.OVERLAP).exclude(overlap_key="")
    hasty = Q(overlap__in=[Overlap.SKIP, Overlap.CANCEL_OTHER])
    forgotten = held.filter(hasty | ~Exists(occupant)).order_by("overlap_key")
    return admit(forgotten.values_list("overlap_key", flat=True)[:_SWEPT], now)
