"""Cancel a job, whoever asks: at once where it does not run, else it is asked to stop."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence
from datetime import datetime

from django.db.models import Q

from jobsplatform.kernel import events
from tasks import followers, registry, transitions
from tasks.events import CancelRequested, JobMoved
from tasks.models import Job
from tasks.retention import purge_after
from tasks.states import CancelReason, Cause, Priority, Role, State


def cancel(job: Job, reason: CancelReason, now: datetime, *, note: str = "") -> bool:
    """End a job that does not run as cancelled, with its aliases where its end is theirs; ``note``: its reason, else
    ``reason`` is. False: it runs, or has ended.

    Part of a transaction. Who waits for what it held has to be told after the commit.
    """
    spec = getattr(registry.find(job.app_id, job.job_type), "spec", None)
    keep = purge_after(job, State.CANCELLED, spec)
    if not transitions.cancel(job.id, reason, now, purge_after=keep, note=note):
        return False
    job.state, job.reason, job.cause = State.CANCELLED, note or str(reason), Cause.CANCELLED
    job.cancel_reason = reason
    followers.settle(job, now)
    events.emit(
        JobMoved(
            job.id,
            job.handler_key,
            "cancel",
            job.state,
            job.lease,
            job.queue,
            job.reason,
            job.cause,
            job.worker_id,
            job.parent_id,
        )
    )
    return True


PLAIN = Q(role=Role.NONE, concurrency_key="", overlap_key="", priority__lt=Priority.USER_ACTION)
"""Nobody waits for what such a job holds, save its parent."""


def cancel_plain(jobs: Sequence[Job], reason: CancelReason, now: datetime) -> None:
    """``cancel`` for many jobs that do not run and are ``PLAIN``, of which the caller holds the rows."""
    by_type: dict[str, list[Job]] = defaultdict(list)
    for job in jobs:
        by_type[job.handler_key].append(job)
    for alike in by_type.values():
        spec = getattr(registry.find(alike[0].app_id, alike[0].job_type), "spec", None)
        keep = purge_after(alike[0], State.CANCELLED, spec)
        transitions.cancel_many([job.id for job in alike], reason, now, purge_after=keep)
    told = (
        JobMoved(
            job.id,
            job.handler_key,
            "cancel",
            State.CANCELLED,
            job.lease,
            job.queue,
            str(reason),
            Cause.CANCELLED,
            job.worker_id,
            job.parent_id,
        )
        for job in jobs
    )
    events.emit_all(list(told))


def ask_to_stop(job: Job, reason: CancelReason, now: datetime) -> bool:
    """Ask a run to stop. False: it does not run, or was asked to stop already."""
    if not transitions.ask_to_stop(job.id, reason, now):
        return False
    events.emit(CancelRequested(job.id, job.handler_key, reason))
    return True
