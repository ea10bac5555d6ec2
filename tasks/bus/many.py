"""``jobs``: what is done to many of an app's jobs at once."""

from __future__ import annotations

from typing import Any

from tasks import control, prune, queries
from tasks.bus.calls import Call, Method
from tasks.bus.errors import Refusal, invalid
from tasks.bus.filters import own
from tasks.bus.job_schemas import (
    CancelByFilterIn,
    CleanupIn,
    CountOut,
    PreemptIn,
    PreemptOut,
    SummaryIn,
    SummaryOut,
)
from tasks.bus.jobs import own_job
from tasks.models import Job
from tasks.states import FINAL, State

MOST_PREEMPTED = 1000


def cancel_by_filter(call: Call, given: CancelByFilterIn) -> dict[str, Any]:
    """Cancel every active job that matches, in batches."""
    wanted = own(call, given.filter)
    return {"count": control.cancel_by_filter(wanted, actor=call.actor, dry_run=given.dry_run)}


def cleanup(call: Call, given: CleanupIn) -> dict[str, Any]:
    """Remove ended jobs that match, in batches."""
    wanted = own(call, given.filter)
    return {"count": prune.purge(wanted, actor=call.actor, dry_run=given.dry_run)}


def progress_summary(call: Call, given: SummaryIn) -> dict[str, Any]:
    """How many jobs are in which state, by one indexed query."""
    if given.parent_id is not None and given.filter is not None:
        raise invalid(("", "give one of parent_id and filter"))
    if given.parent_id is not None:
        own_job(call, given.parent_id)
        return queries.summary(Job.objects.filter(parent_id=given.parent_id))
    return queries.summary(own(call, given.filter).queryset())


def preempt(call: Call, given: PreemptIn) -> dict[str, Any]:
    """Ask older running jobs to give way to a newer one."""
    newer = own_job(call, given.by)
    if newer.state in FINAL:
        raise Refusal("STATE_CONFLICT", "The job has ended: nothing need give way to it.")
    keys = [f"{call.app_id}:{each}" for each in given.job_types or [newer.job_type]]
    rows = Job.objects.filter(handler_key__in=keys, state=State.RUNNING, created_at__lte=newer.created_at)
    older = rows.exclude(id=newer.id).order_by("id").values_list("id", flat=True)[:MOST_PREEMPTED]
    asked = [each for each in older if control.preempt(each, actor=call.actor, by=newer.id)]
    return {"preempted": [str(each) for each in asked]}


METHODS = (
    Method(
        "jobs.cancel_by_filter",
        "jobs:manage",
        CancelByFilterIn,
        CountOut,
        cancel_by_filter,
        "Cancel all active jobs that match.",
    ),
    Method("jobs.cleanup", "jobs:manage", CleanupIn, CountOut, cleanup, "Remove ended jobs that match."),
    Method(
        "jobs.progress_summary",
        "jobs:read",
        SummaryIn,
        SummaryOut,
        progress_summary,
        "How far the children of a job are.",
    ),
    Method(
        "jobs.preempt",
        "jobs:manage",
        PreemptIn,
        PreemptOut,
        preempt,
        "Let older running jobs give way to one.",
    ),
)
