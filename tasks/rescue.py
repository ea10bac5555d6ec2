"""What keeps the table true when processes die and hints are lost. Every step is level-triggered and repeatable:
it asks what is so, never what should have happened."""

from __future__ import annotations

import logging
from collections.abc import Sequence
from datetime import datetime, timedelta
from uuid import UUID

from django.db.models import Exists, OuterRef

from jobsplatform.kernel import events, processes
from jobsplatform.kernel.models import Process, Tenant
from tasks import (
    admission,
    dispatch,
    each,
    family,
    finish,
    followers,
    hints,
    latest_start,
    limits,
    registry,
    remote,
    transitions,
)
from tasks.events import JobMoved, WorkerLost
from tasks.models import Job
from tasks.outcomes import Ending
from tasks.states import IN_FLIGHT, Cause, Hold, State

logger = logging.getLogger("jobsplatform.rescue")

_BATCH = 500


def rescue_dead(now: datetime, lease_seconds: float) -> int:
    """Declare workers dead that missed their heartbeats for a whole lease, and take back their jobs.

    Judges incarnations, never the age of a job; a sidecar only when the bus was there to hear it. The caller
    has beaten without a gap for a full lease. Returns how many jobs were taken back.
    """
    silent_since = now - timedelta(seconds=lease_seconds)
    rescued = 0
    for process in processes.silent(now, lease_seconds):
        if not processes.could_be_heard(process, now, lease_seconds):
            continue
        # A beat in the same moment wins: the declaration is conditional on the old heartbeat.
        if not processes.declare_lost(process.id, now, silent_since=silent_since):
            continue
        jobs = take_back(process.id, now, reason=f"worker {process.name} missed its heartbeats")
        rescued += jobs
        events.emit(WorkerLost(process.id, process.name, jobs))
    return rescued + take_back_orphans(now)


def take_back(process_id: UUID, now: datetime, reason: str) -> int:
    """Every job in flight of one dead incarnation."""
    rows = Job.objects.filter(worker_id=process_id, state__in=sorted(IN_FLIGHT)).order_by("id")
    return _all_lost(list(rows.values_list("id", "lease")), reason, now)


def _all_lost(runs: Sequence[tuple[UUID, int]], reason: str, now: datetime) -> int:
    def lost(run: tuple[UUID, int]) -> bool:
        return finish.lost(*run, whole_worker=True, reason=reason, now=now) is not None

    return each.done("the rescue of a job", runs, lost)


def take_back_orphans(now: datetime) -> int:
    """Jobs in flight whose incarnation has ended, or is not known at all: its last clean-up did not happen."""
    alive = Process.objects.filter(id=OuterRef("worker_id"), stopped_at=None, lost_at=None)
    rows = Job.objects.filter(~Exists(alive), state__in=sorted(IN_FLIGHT)).order_by("id")
    found = list(rows.values_list("id", "lease")[:_BATCH])
    return _all_lost(found, "its worker has ended", now)


def sweep(now: datetime) -> int:
    """Everything that a lost hint, a crash between commit and follow-up, or the mere passing of time has left."""
    done = (
        end_pauses(now)
        + end_overdue(now)
        + sum(family.release(job, now) is not None for job in family.forgotten())
    )
    done += sum(followers.check(job, now) for job in followers.forgotten())
    done += followers.unhold_orphan_preempted(now) + limits.unpark_free_keys(now) + unhold_tenants(now)
    done += dispatch.come_due(now) + latest_start.sweep(now) + admission.sweep(now) + remote.sweep(now)
    if done:
        hints.wake()
    return done


def end_pauses(now: datetime) -> int:
    """Paused jobs whose pause is over."""
    rows = Job.objects.filter(state=State.PAUSED, deadline_at__lte=now).order_by("deadline_at")
    ended = 0
    for job in rows[:_BATCH]:
        if transitions.resume(job.id, now, "pause is over"):
            ended += 1
            events.emit(
                JobMoved(
                    job.id, job.handler_key, "resume", State.PENDING, job.lease, job.queue, "pause is over"
                )
            )
    return ended


def end_overdue(now: datetime) -> int:
    """Deferred jobs that nobody has finished by their deadline. Those that were brought to a sidecar are tried again
    while attempts are left: that is how its death is noticed."""
    rows = Job.objects.filter(state=State.WAITING, open_end=True, deadline_at__lte=now).order_by(
        "deadline_at"
    )

    def end(row: tuple[UUID, int, str, str]) -> bool:
        job_id, lease, app_id, job_type = row
        late = Ending(
            "failed",
            cause=Cause.TIMEOUT,
            error_type="DeadlineExceeded",
            error="was not finished by its deadline",
            retryable=getattr(registry.find(app_id, job_type), "brought", False),
        )
        return finish.from_outside(job_id, lease, late, now) is not None

    found = list(rows.values_list("id", "lease", "app_id", "job_type")[:_BATCH])
    return each.done("the end of a job past its deadline", found, end)


def unhold_tenants(now: datetime) -> int:
    """Jobs held for a tenant that is active (again)."""
    asleep = Tenant.objects.filter(tenant_id=OuterRef("tenant_id")).exclude(state=Tenant.State.ACTIVE)
    rows = Job.objects.filter(~Exists(asleep), state=State.PENDING, hold=Hold.TENANT)
    ids = list(rows.values_list("id", flat=True)[:_BATCH])
    return transitions.unhold(ids, Hold.TENANT, now) if ids else 0
