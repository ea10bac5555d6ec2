"""End what does not end by itself: runs past their cancel grace, runs past their time limit.

Where the pool has processes the run's process is killed. Threads cannot be killed: there the run is ended on
record (its late writes are refused by its lease) and its thread counts as occupied until it comes back.
"""

from __future__ import annotations

import os
import signal
from collections.abc import Callable
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any
from uuid import UUID

import structlog
from django.db.models import Q

from jobsplatform.kernel.loop import wait_until
from tasks import finish
from tasks.grace import grace_of
from tasks.models import Job
from tasks.states import CancelReason, State
from tasks.worker import inflight
from tasks.worker.inflight import Abandoned, RunKey
from tasks.worker.losses import Losses

log = structlog.get_logger("jobsplatform.worker")

LIMIT_SLACK = timedelta(seconds=5)
"""Past the hard limit, until we do what the pool should have done."""

DEATH_SECONDS = 3.0

CANNOT_KILL = "threads cannot be killed: the run was given up, its thread works on until it returns"


@dataclass(frozen=True, slots=True)
class Overdue:
    """A run that must end now."""

    key: RunKey
    job_type: str
    why: str
    timed_out: bool
    works: RunKey
    """What works on it: its own message, or that of its pack."""


class Killer:
    """Ends runs of this worker from outside. One thread at a time uses it."""

    def __init__(self, pool: Callable[[], Any], can_kill: bool, losses: Losses, abandoned: Abandoned) -> None:
        self._pool = pool
        self._can_kill = can_kill
        self._losses = losses
        self._abandoned = abandoned

    def end_overdue(self, process_id: UUID, now: datetime) -> int:
        """End every run of this worker that is past its grace or its limit; how many."""
        return sum(self._end(run, now) for run in overdue(process_id, self._can_kill, now))

    def _end(self, run: Overdue, now: datetime) -> bool:
        job_id, lease = run.key
        if not Job.objects.filter(id=job_id, lease=lease, state=State.RUNNING).exists():
            return False
        killed = self.stop_working(run.works)
        reason = run.why if killed else f"{run.why}; {CANNOT_KILL}"
        log.warning(
            "job.killed" if killed else "job.given_up",
            text=f"job {run.job_type} {reason}",
            job=run.job_type,
            job_id=str(job_id),
            lease=lease,
        )
        if run.timed_out:
            finish.timed_out(job_id, lease, now, reason)
        else:
            finish.killed(job_id, lease, now, reason)
        if killed and run.works != run.key:
            finish.lost_pack(run.works[0], "another run of its pack was killed", now)
        return True

    def stop_working(self, key: RunKey) -> bool:
        """Kill the process that works on a run and wait for its death; False where only a thread does."""
        request = inflight.active().get(key)
        if not self._can_kill:
            if request is not None:
                self._abandoned.add(key)
            return request is None
        # From here on the hooks of the main thread tell nothing new about this run.
        self._losses.expect(key)
        if request is None or not request.worker_pid:
            return True
        self._pool().terminate_job(request.worker_pid, signal.SIGKILL)
        _wait_for_death(request.worker_pid)
        return True


def _wait_for_death(pid: int) -> None:
    try:
        wait_until(lambda: not _works(pid), DEATH_SECONDS, every=0.02)
    except TimeoutError:
        log.error("job.unkillable", text=f"process {pid} did not die within {DEATH_SECONDS:g} s of SIGKILL")


def _works(pid: int) -> bool:
    """Whether a process still runs code; one that only waits to be reaped does not."""
    try:
        with open(f"/proc/{pid}/stat", encoding="ascii", errors="replace") as stat:
            return stat.read().rpartition(")")[2].split()[0] not in ("Z", "X")
    except FileNotFoundError:
        if os.path.isdir("/proc/self"):
            return False
    try:
        os.kill(pid, 0)
    except OSError:
        return False
    return True


def overdue(process_id: UUID, can_kill: bool, now: datetime) -> list[Overdue]:
    """Runs of this worker that were asked to stop and had their grace, or passed their hard limit."""
    # The pool enforces hard limits itself where it can; we step in when it did not.
    slack = LIMIT_SLACK if can_kill else timedelta()
    rows = Job.objects.filter(
        Q(cancel_requested_at__isnull=False) | Q(deadline_at__lte=now - slack),
        worker_id=process_id,
        state=State.RUNNING,
    )
    return [run for job in rows if (run := _judge(job, slack, now))]


def _judge(job: Job, slack: timedelta, now: datetime) -> Overdue | None:
    key, name = (job.id, job.lease), job.handler_key.removeprefix(":")
    works = inflight.key_of(job.id, job.lease, job.pack)
    if job.deadline_at is not None and job.deadline_at <= now - slack:
        return Overdue(key, name, "ran past its time limit", timed_out=True, works=works)
    if job.cancel_requested_at is None:
        return None
    grace = grace_of(job)
    if job.cancel_requested_at + timedelta(seconds=grace) > now:
        return None
    why = f"did not stop within its grace of {grace:g} s ({job.cancel_reason})"
    return Overdue(key, name, why, timed_out=job.cancel_reason == CancelReason.TIMEOUT, works=works)
