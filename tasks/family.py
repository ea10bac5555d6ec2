"""Parents and children. Release is level-triggered: "waiting, and no open child", asked after each child's
commit, when the parent begins to wait, and by the sweeper. There is no counter to fight over."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import datetime
from typing import Any
from uuid import UUID

from django.db import transaction
from django.db.models import QuerySet

from jobsplatform.kernel import events
from jobsplatform.kernel.db import after_commit, retry_deadlocks
from tasks import admission, followers, hints, registry, transitions, verdict
from tasks.events import JobMoved, RunEnded
from tasks.models import Job
from tasks.retention import purge_after
from tasks.states import ACTIVE, Cause, State

_FEW = 500


def of(job: Job) -> verdict.Family:
    """What the verdict needs to know: has the job children, and is one of them open?"""
    if not job.spawned:
        return verdict.Family()
    children = Job.objects.filter(parent_id=job.id)
    return verdict.Family(spawned=not job.continuing, open=children.filter(state__in=sorted(ACTIVE)).exists())


@retry_deadlocks
@transaction.atomic
def release(parent_id: UUID, now: datetime) -> str | None:
    """If the parent waits and no child is open: complete it, fail it, or let its continuation run.

    Returns the name of the move, or None when it is not (or no more) time.
    """
    parent = Job.objects.select_for_update().filter(id=parent_id, state=State.WAITING, open_end=False).first()
    if parent is None:
        return None
    children = Job.objects.filter(parent_id=parent.id)
    handler = registry.find(parent.app_id, parent.job_type)
    if handler is None or children.filter(state__in=sorted(ACTIVE)).exists():
        return None
    failed = children.filter(state=State.FAILED)
    keep = {state: purge_after(parent, state, handler.spec) for state in (State.FAILED, State.COMPLETED)}
    move, error = "complete", ""
    if not parent.ignore_child_failures and failed.exists():
        move, error = "fail", _what_failed(failed, children)
        done = transitions.fail(
            parent.id,
            parent.lease,
            now,
            purge_after=keep[State.FAILED],
            used=False,
            cause=Cause.HANDLER,
            reason="child failed",
            error=error,
            error_type="ChildFailed",
        )
    elif handler.has_continuation and not parent.continuing:
        move, done = "go_on", transitions.go_on(parent.id, parent.lease, now)
    else:
        done = transitions.complete(
            parent.id, parent.lease, now, purge_after=keep[State.COMPLETED], reason=""
        )
    if not done:
        return None
    _after(parent, move, error, now)
    return move


def _what_failed(failed: QuerySet[Job], children: QuerySet[Job]) -> str:
    first = failed.order_by("id").first()
    assert first is not None
    told = f"first {first.job_type} {first.id}: {first.error[:500]}"
    return f"{failed.count()} of {children.count()} children failed; {told}"


def _after(parent: Job, move: str, error: str, now: datetime) -> None:
    state = {"fail": State.FAILED, "complete": State.COMPLETED, "go_on": State.PENDING}[move]
    reason = {"fail": "child failed", "complete": "", "go_on": "continuation"}[move]
    cause = Cause.HANDLER if move == "fail" else Cause.NONE
    events.emit(
        JobMoved(
            parent.id,
            parent.handler_key,
            move,
            state,
            parent.lease,
            parent.queue,
            reason,
            cause,
            None,
            parent.parent_id,
        )
    )
    if move != "go_on":
        parent.state, parent.reason, parent.cause = state, reason, cause
        followers.settle(parent, now)
        began = parent.first_started_at or parent.started_at or parent.created_at
        events.emit(
            RunEnded(
                parent.id,
                parent.app_id,
                parent.job_type,
                parent.lease,
                parent.attempt,
                "err" if move == "fail" else "ok",
                move,
                state,
                cause,
                None,
                (now - began).total_seconds() * 1000,
                None,
                error,
                "ChildFailed" if error else "",
                reason=reason,
                priority=parent.priority,
            )
        )
        if parent.parent_id is not None:
            grandparent = parent.parent_id
            after_commit(lambda: release(grandparent, now))
        after_commit(lambda: admission.admit([parent.overlap_key], now))
    hints.wake()


def forgotten(limit: int = 500) -> list[UUID]:
    """Waiting parents without an open child: for the sweeper."""
    rows = Job.objects.filter(~transitions.open_children(), state=State.WAITING, open_end=False)
    return list(rows.values_list("id", flat=True)[:limit])


def results(parent_id: UUID) -> list[dict[str, Any]]:
    """How each child ended, oldest first: for the continuation."""
    return list(each_result(parent_id))


def each_result(parent_id: UUID) -> Iterator[dict[str, Any]]:
    """The same, a few at a time: all together may be large."""
    rows = Job.objects.filter(parent_id=parent_id).order_by("id")
    fields = ("id", "child_key", "job_type", "state", "result", "error", "data")
    after: UUID | None = None
    while found := list((rows if after is None else rows.filter(id__gt=after)).values(*fields)[:_FEW]):
        yield from found
        after = found[-1]["id"]
        if len(found) < _FEW:
            return
