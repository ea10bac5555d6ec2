"""The door of ``finish``, for many plain ends at once: completed, nobody hangs on the job by a key or as a child.

What this writes is what ``finish`` would have written, in one statement instead of three for each.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import NamedTuple
from uuid import UUID

from django.db import transaction

from jobsplatform.kernel import events, processes
from jobsplatform.kernel.db import after_commit, retry_deadlocks
from tasks import family, finish, hints, registry, transitions
from tasks.events import JobMoved, RunEnded
from tasks.models import Job
from tasks.outcomes import Ending
from tasks.retention import purge_after
from tasks.sql.writes import Completed, Next, Part, to_json
from tasks.states import Priority, State


@dataclass(slots=True)
class Done:
    """A run that has ended and is not written yet."""

    job: Job
    ending: Ending
    ended_at: datetime


class Turn(NamedTuple):
    """``started``: the next runs of a pack; ``left``: ends that are not plain after all, for ``finish``; ``told``: the
    events of the others, to be delivered by the caller."""

    started: list[Job]
    left: list[Done]
    told: list[object]


def is_plain(job: Job, ending: Ending) -> bool:
    """Whether this end may be written here: no alias, successor or child hangs on it, and nothing else is new."""
    return (
        ending.kind == "completed"
        and not job.role
        and not job.spawned
        and not job.cancel_reason
        and ending.progress is None
    )


@retry_deadlocks
@transaction.atomic
def turn(done: Sequence[Done], following: Part, now: datetime, meanwhile: Callable[[], None]) -> Turn:
    """Write what is done, and start the next part of the pack, in one transaction; ``meanwhile`` is called while the
    database works on it."""
    rows, keep, worker = _written(done)
    written, started = transitions.turn_pack(rows, keep, worker, following, now, meanwhile)
    ended, left = _parted(done, written)
    if ended:
        after_commit(lambda: _let_go(ended))
    return Turn(started, left, _told(ended))


def complete_many(done: Sequence[Done]) -> list[Done]:
    """Write plain ends, of runs of one type.

    Those that are no longer so (asked to stop meanwhile, lease lost) are given back.
    """
    if not done:
        return []
    rows, keep, worker = _written(done)
    written = transitions.complete_many(rows, keep, done[0].job.worker_id, worker)
    ended, left = _parted(done, written)
    _tell(ended)
    return left


def _written(done: Sequence[Done]) -> tuple[list[Completed], timedelta | None, str]:
    """The rows to be written, how long they are kept, and by which worker."""
    if not done:
        return [], None, ""
    return [_row(one) for one in done], _keep(done[0].job), _worker(done[0].job)


def _parted(done: Sequence[Done], written: set[UUID]) -> tuple[Sequence[Done], list[Done]]:
    if len(written) == len(done):
        return done, []
    return [one for one in done if one.job.id in written], [one for one in done if one.job.id not in written]


@retry_deadlocks
def complete_and_start(one: Done, following: Next, now: datetime) -> tuple[bool, Job | None]:
    """Write a plain end and start the next run of this worker, at once: whether the end was written (as by
    ``complete_many``), and the run that has begun."""
    job = one.job
    written, started = transitions.complete_and_start(
        _row(one), _keep(job), job.worker_id, _worker(job), following, now
    )
    if written:
        _tell([one])
    return written, started


def _worker(job: Job) -> str:
    return processes.name_of(job.worker_id) if job.worker_id else ""


def _keep(job: Job) -> timedelta | None:
    return purge_after(job, State.COMPLETED, getattr(registry.find(job.app_id, job.job_type), "spec", None))


def _tell(ended: Sequence[Done]) -> None:
    if ended:
        events.emit_all(_told(ended))
        after_commit(lambda: _let_go(ended))


def _row(one: Done) -> Completed:
    job, ending = one.job, one.ending
    assert job.started_at is not None
    return Completed(job.id, job.lease, to_json(ending.result), ending.count, job.started_at, one.ended_at)


def _told(ended: Sequence[Done]) -> list[object]:
    told: list[object] = []
    for one in ended:
        job, ending = one.job, one.ending
        assert job.started_at is not None
        elapsed = max(0.0, (one.ended_at - job.started_at).total_seconds() * 1000)
        told += (
            JobMoved(
                job.id, job.handler_key, "complete", State.COMPLETED, job.lease, job.queue,
                worker_id=job.worker_id, parent_id=job.parent_id,
            ),
            RunEnded(
                job.id, job.app_id, job.job_type, job.lease, job.attempt, "ok", "complete", State.COMPLETED, "",
                ending.count, elapsed, ending.extra, priority=job.priority,
            ),
        )  # fmt: skip
    return told


def _let_go(ended: Sequence[Done]) -> None:
    """As ``finish.let_go``, once for all of them."""
    parents: dict[UUID, datetime] = {}
    for one in ended:
        if one.job.concurrency_key or one.job.overlap_key or one.job.priority >= Priority.USER_ACTION:
            finish.let_go(one.job, "complete", one.ended_at)
        elif one.job.parent_id is not None:
            parents[one.job.parent_id] = one.ended_at
    for parent_id, at in parents.items():
        family.release(parent_id, at)
    hints.run_ended()
