"""Cancel a job, whoever asks: at once where it does not run, else it is asked to stop."""

from __future__ import annotations

from datetime import datetime

from jobsplatform.kernel import events
from tasks import followers, registry, transitions
from tasks.events import CancelRequested, JobMoved
from tasks.models import Job
from tasks.retention import purge_after
from tasks.states import CancelReason, Cause, State


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


def ask_to_stop(job: Job, reason: CancelReason, now: datetime) -> bool:
    """Ask a run to stop. False: it does not run, or was asked to stop already."""
    if not transitions.ask_to_stop(job.id, reason, now):
        return False
    events.emit(CancelRequested(job.id, job.handler_key, reason))
    return True
