"""Giving way: an urgent job that finds no slot asks the youngest run of lowest priority to stop."""

from __future__ import annotations

from datetime import datetime

from jobsplatform.kernel import events
from tasks import registry, transitions
from tasks.events import CancelRequested
from tasks.models import Job
from tasks.sql.claim import Candidate
from tasks.states import CancelReason, State


def preempt_for(job: Candidate, now: datetime) -> Job | None:
    """Ask one run of the job's queue to make room for it; None when nobody can, or somebody already was asked.

    Only types declared ``preemptible`` give way, and only to a higher priority. The run goes back to pending
    with its checkpoint, and is not claimed again before ``job`` has started.
    """
    running = Job.objects.filter(state=State.RUNNING, queue=job.queue)
    if running.filter(preempted_by=job.id, cancel_reason=CancelReason.PREEMPTED).exists():
        return None
    rivals = running.filter(priority__lt=job.priority, cancel_reason=CancelReason.NONE)
    for victim in rivals.order_by("priority", "-started_at", "-id")[:200]:
        handler = registry.find(victim.app_id, victim.job_type)
        if handler is None or not handler.spec.preemptible:
            continue
        if transitions.ask_to_stop(victim.id, CancelReason.PREEMPTED, now, by=job.id):
            events.emit(CancelRequested(victim.id, victim.handler_key, CancelReason.PREEMPTED))
            return victim
    return None
