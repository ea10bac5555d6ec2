"""The ``sync`` tasks provider: a job runs in its caller, right after the caller's commit.

The same rows, leases, attempts and ends as everywhere; only the worker is this process. Jobs for later, and
those that meet a limit, stay pending until somebody drains them.
"""

from __future__ import annotations

import logging
import os
from datetime import datetime
from uuid import UUID

from django.db import transaction

from jobsplatform.kernel import clock, config, events, processes
from jobsplatform.kernel.loop import Loop
from jobsplatform.kernel.models import Process
from tasks import latest_start, limits, registry, reporter, run, suspensions, transitions
from tasks.dispatch import type_limit
from tasks.events import JobMoved, JobSubmitted
from tasks.late import is_late
from tasks.models import Job
from tasks.states import Hold, State

logger = logging.getLogger("jobsplatform.inline")


class Presence(Loop):
    """This process as the worker of its inline runs: a row, and its heartbeat, from the first run on."""

    name = "inline-heartbeat"

    def __init__(self) -> None:
        super().__init__()
        self.process_id: UUID | None = None

    def wait_seconds(self) -> float:
        return config.get().tasks.heartbeat_seconds

    def step(self) -> bool:
        if self.process_id is not None and not processes.beat(self.process_id, clock.now()):
            self.process_id = None  # declared lost: the next run registers anew
        return False

    def incarnation(self) -> UUID:
        """The id that runs are recorded under; registers this process when it is not."""
        if self.process_id is None or not Process.objects.filter(id=self.process_id, lost_at=None).exists():
            row = processes.register(
                "cli", name=f"inline-{os.getpid()}", now=clock.now(), handlers=registry.own_keys()
            )
            self.process_id = row.id
            if beating and not self.alive:
                self.start()
        return self.process_id


beating = True
"""Tests that keep everything in one transaction switch the heartbeat's thread off."""

_presence: dict[int, Presence] = {}


def presence() -> Presence:
    """The presence of this process; a forked child has its own."""
    return _presence.setdefault(os.getpid(), Presence())


def install() -> None:
    """Run submitted jobs in their callers when ``TASKS__PROVIDER`` is ``sync``."""
    events.subscribe(JobSubmitted, _after_submit)
    events.subscribe(JobMoved, _after_move)


def _after_submit(event: JobSubmitted) -> None:
    if config.get().tasks.provider == "sync" and event.status == "created":
        run_now(event.job_id)


def _after_move(event: JobMoved) -> None:
    # A parent whose children have ended: nobody else would run its continuation.
    if event.move == "go_on" and config.get().tasks.provider == "sync":
        run_now(event.job_id)


def run_now(job_id: UUID) -> bool:
    """Claim and run one job here. False: it may not start now."""
    now = clock.now()
    lease = _claim(job_id, now)
    if lease is None:
        latest_start.end([job_id], now)
        return False
    return run.run(job_id, lease, can_kill=False, make_port=reporter.direct_port) is not None


@transaction.atomic
def _claim(job_id: UUID, now: datetime) -> int | None:
    job = Job.objects.select_for_update().filter(id=job_id, state=State.PENDING, hold=Hold.NONE).first()
    if job is None or job.due_at > now or is_late(job, now) or job.handler_key in registry.bound():
        return None
    key, limit = limits.key_of(job), type_limit(job.handler_key)
    names = [limits.type_lock(job.handler_key)] if limit is not None else []
    limits.take([*names, *([limits.key_lock(key)] if key else [])])
    if suspensions.gate(now).closed(job.queue, job.handler_key):
        return None
    if limit is not None and limits.in_flight_of_types([job.handler_key]).get(job.handler_key, 0) >= limit:
        return None
    if key is not None and limits.in_flight_of_keys([key]).get(key, 0) >= job.concurrency_limit:
        return None
    won = transitions.claim([job.id], presence().incarnation(), now)
    return won[0].lease if won else None


def forget() -> None:
    """Give up this process's presence (tests)."""
    row = _presence.pop(os.getpid(), None)
    if row is not None and row.alive:
        row.stop(1.0)
