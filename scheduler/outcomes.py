"""What became of a fired slot: its job's ending, read from the job. The decision itself never changes."""

from __future__ import annotations

from enum import StrEnum
from typing import TYPE_CHECKING

from scheduler.models import ScheduleTriggerLog
from scheduler.states import Status
from tasks.states import State

if TYPE_CHECKING:
    from tasks.models import Job

OVERLAP_REASON = "overlap"
LATEST_START_REASON = "latest_start"


class Outcome(StrEnum):
    """One word for what became of a slot."""

    NONE = ""  # it did not fire, so there is nothing to become of
    WAITING = "waiting"  # its job has not begun
    RUNNING = "running"
    PAUSED = "paused"  # its job rests until somebody resumes it
    RUN = "run"  # completed
    FAILED = "failed"
    OVERLAPPED = "overlapped"  # an earlier job of the schedule was still unfinished
    EXPIRED = "expired"  # it waited longer than its latest start
    CANCELLED = "cancelled"
    GONE = "gone"  # its job's retention has passed


_BY_STATE: dict[str, Outcome] = {
    State.PENDING: Outcome.WAITING,
    State.DISPATCHED: Outcome.WAITING,
    State.RUNNING: Outcome.RUNNING,
    State.WAITING: Outcome.RUNNING,
    State.PAUSED: Outcome.PAUSED,
    State.COMPLETED: Outcome.RUN,
    State.FAILED: Outcome.FAILED,
    State.CANCELLED: Outcome.CANCELLED,
}
_BY_REASON = {OVERLAP_REASON: Outcome.OVERLAPPED, LATEST_START_REASON: Outcome.EXPIRED}

UNFINISHED = frozenset({Outcome.WAITING, Outcome.RUNNING, Outcome.PAUSED})


def outcome_of_job(job: Job) -> Outcome:
    """The word for where a slot's job stands."""
    if job.state == State.CANCELLED:
        return _BY_REASON.get(job.reason, Outcome.CANCELLED)
    return _BY_STATE[job.state]


def outcome(row: ScheduleTriggerLog, job: Job | None) -> Outcome:
    """The same for a row of the trigger log; ``job`` is the one it names, None when it is not there any more."""
    if row.status != Status.FIRED:
        return Outcome.NONE
    return Outcome.GONE if job is None else outcome_of_job(job)
