"""The one door out of a run, whatever the cause: the handler's end, a kill, a dead worker, an end from outside.

In one transaction: the row is locked and its lease looked at, ``verdict`` says which move it is, the move is
written, the attempt is recorded, and those who hang on the job (aliases, a successor) are settled. After the
commit come the events, and whoever waits for what the job held: its parent, its concurrency key, its worker.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any
from uuid import UUID

from django.db import transaction

from jobsplatform.kernel import config, events, processes
from jobsplatform.kernel.db import after_commit, retry_deadlocks
from jobsplatform.kernel.errors import InvalidInput
from tasks import admission, family, followers, hints, limits, registry, transitions, verdict
from tasks.events import CancelSeen, JobMoved, LeaseRejected, RunEnded
from tasks.models import Job, JobAttempt
from tasks.outcomes import Ending
from tasks.outside import storable
from tasks.retention import purge_after
from tasks.retry import Backoff
from tasks.states import BY_NAME, FINAL, Cause, Priority, State

_FROM_OUTSIDE = ("completed", "failed", "retry", "discarded")


@dataclass(frozen=True, slots=True)
class Finished:
    """What an ending made of its job."""

    move: str
    state: State


def finish(job_id: UUID, lease: int, ending: Ending, now: datetime) -> Finished | None:
    """End the run that holds ``lease``. None: it no longer does; nothing was written."""
    return _finish(job_id, lease, ending, now, where="finish")


def lost(job_id: UUID, lease: int, *, whole_worker: bool, reason: str, now: datetime) -> Finished | None:
    """The run's process or worker died. A job that was sent but not started waits again, free of charge."""
    if transitions.hand_back(job_id, lease, reason or "worker lost", now):
        return Finished("hand_back", State.PENDING)
    ending = Ending("lost", cause=Cause.CRASHED, reason=reason, whole_worker=whole_worker, error=reason)
    return _finish(job_id, lease, ending, now, where="lost")


def lost_pack(pack: UUID, reason: str, now: datetime) -> int:
    """The process that worked on a pack died: its unfinished jobs wait again, uncharged, to be sent singly."""
    rows = Job.objects.filter(pack=pack, state=State.RUNNING).order_by("id").values_list("id", "lease")
    back = sum(
        lost(job_id, lease, whole_worker=False, reason=reason, now=now) is not None for job_id, lease in rows
    )
    return back + transitions.hand_back_pack(pack, reason or "its pack died", now)


def timed_out(job_id: UUID, lease: int, now: datetime, error: str = "") -> Finished | None:
    """The run passed its hard time limit and was killed, or given up where the pool cannot kill."""
    text = error or "ran past its time limit and was stopped"
    ending = Ending("failed", cause=Cause.TIMEOUT, error_type="TimeLimitExceeded", error=text)
    return _finish(job_id, lease, ending, now, where="timeout")


def killed(job_id: UUID, lease: int, now: datetime, reason: str = "") -> Finished | None:
    """The run did not stop within its grace and was killed, or given up where the pool cannot kill."""
    return _finish(job_id, lease, Ending("cancelled", error=reason), now, where="kill")


def from_outside(job_id: UUID, lease: int, ending: Ending, now: datetime) -> Finished | None:
    """End a deferred job (waiting for somebody outside). Raises InvalidInput for an ending that only a run can
    have, ParamsInvalid and ParamsTooLarge for a result that cannot be stored; then the job goes on waiting. So
    does one with open children."""
    if ending.kind not in _FROM_OUTSIDE:
        raise InvalidInput(
            f"A job cannot be {ending.kind} from outside; one of {', '.join(_FROM_OUTSIDE)} is possible."
        )
    ending = storable(ending, config.get().tasks.result_max_bytes)
    return _finish(job_id, lease, ending, now, where="outside", states=(State.WAITING,))


def under_lease(
    job_id: UUID, lease: int, ending: Ending, now: datetime, *, deferred: bool = True
) -> Finished | None:
    """End a run that a sidecar does, or (``deferred``) a job of it that was deferred; any ending will do. Raises
    ParamsInvalid and ParamsTooLarge for what cannot be stored; then nothing has changed."""
    ending = storable(ending, config.get().tasks.result_max_bytes)
    states = (State.RUNNING, State.WAITING) if deferred else (State.RUNNING,)
    return _finish(job_id, lease, ending, now, where="bus", states=states)


@retry_deadlocks
@transaction.atomic
def _finish(
    job_id: UUID,
    lease: int,
    ending: Ending,
    now: datetime,
    *,
    where: str,
    states: Sequence[State] = (State.RUNNING,),
) -> Finished | None:
    job = Job.objects.select_for_update().filter(id=job_id, state__in=states, lease=lease).first()
    if job is None or ending.kind == "stale" or (job.state == State.WAITING and not job.open_end):
        events.emit(LeaseRejected(job_id, lease, where))
        return None
    spec = getattr(registry.find(job.app_id, job.job_type), "spec", None)
    children = family.of(job) if ending.kind == "completed" else verdict.Family()
    decision = verdict.judge(job, ending, rules_of(spec), children, now)
    _apply(job, decision, purge_after(job, BY_NAME[decision.move].target, spec), now)
    if job.state == State.RUNNING:
        _record(job, decision, ending, now)
    target = State(BY_NAME[decision.move].target)
    if target in FINAL:
        job.state, job.reason, job.cause = target, decision.facts.get("reason", ""), _cause(decision)
        followers.settle(job, now)
    _tell(job, decision, ending, now)
    after_commit(lambda: let_go(job, decision.move, now))
    return Finished(decision.move, target)


def rules_of(spec: Any) -> verdict.Rules:
    """What a type's declaration (None: unknown here) and the settings say about ends."""
    tasks = config.get().tasks
    return verdict.Rules(
        backoff=(spec and spec.backoff)
        or Backoff(tasks.backoff_base_seconds, 2.0, tasks.backoff_max_seconds),
        crash_budget=(spec and spec.crash_budget) or tasks.crash_budget,
        loss_budget=tasks.worker_loss_budget,
        cancel_on_interrupt=bool(spec and spec.on_interrupt == "cancel"),
    )


def _cause(decision: verdict.Verdict) -> str:
    if decision.move == "stop":
        return Cause.CANCELLED
    return Cause.CRASHED if decision.move == "crash" else decision.facts.get("cause", Cause.NONE)


def _apply(job: Job, decision: verdict.Verdict, keep: timedelta | None, now: datetime) -> None:
    facts, options, due_at = decision.facts, decision.options, decision.due_at
    match decision.move:
        case "retry" | "snooze":
            done = getattr(transitions, decision.move)(job.id, job.lease, due_at, now, **facts)
        case "pause":
            done = transitions.pause(job.id, job.lease, due_at, now, **facts)
        case "complete" | "fail" | "crash" | "stop":
            move = getattr(transitions, decision.move)
            done = move(job.id, job.lease, now, purge_after=keep, **options, **facts)
        case _:
            done = getattr(transitions, decision.move)(job.id, job.lease, now, **options, **facts)
    if not done:  # the row is locked and was looked at: only a rule that forgot a state comes here
        raise AssertionError(f"{decision.move} refused for job {job.id} in {job.state}")


def _record(job: Job, decision: verdict.Verdict, ending: Ending, now: datetime) -> None:
    JobAttempt.objects.create(
        job=job,
        lease=job.lease,
        number=job.attempt,
        outcome=decision.move,
        reason=decision.facts.get("reason", ""),
        cause=_cause(decision) or ending.cause,
        worker_id=job.worker_id,
        worker=processes.name_of(job.worker_id) if job.worker_id else "",
        started_at=job.started_at or now,
        finished_at=now,
        count=ending.count,
        error_type=ending.error_type,
        error=ending.error or decision.facts.get("error", ""),
        traceback=ending.traceback,
    )


def _tell(job: Job, decision: verdict.Verdict, ending: Ending, now: datetime) -> None:
    state = BY_NAME[decision.move].target
    reason, cause = decision.facts.get("reason", ""), str(_cause(decision))
    events.emit(
        JobMoved(
            job.id,
            job.handler_key,
            decision.move,
            state,
            job.lease,
            job.queue,
            reason,
            cause,
            job.worker_id,
            job.parent_id,
        )
    )
    events.emit(
        RunEnded(
            job.id,
            job.app_id,
            job.job_type,
            job.lease,
            job.attempt,
            decision.outcome,
            decision.move,
            state,
            cause,
            ending.count,
            _ms(now, job.started_at),
            ending.extra,
            ending.error or decision.facts.get("error", ""),
            ending.error_type,
            ending.retryable if decision.outcome in ("err", "paused") else False,
            (decision.due_at - now).total_seconds() if decision.due_at else None,
            reason,
            job.priority,
        )
    )
    if job.cancel_requested_at is not None:
        events.emit(CancelSeen(job.id, job.handler_key, job.cancel_reason, _ms(now, job.cancel_requested_at)))


def _ms(now: datetime, since: datetime | None) -> float:
    return max(0.0, (now - since).total_seconds() * 1000) if since else 0.0


def let_go(job: Job, move: str, now: datetime) -> None:
    """After the commit: whoever waits for what this job held. Repeated by the sweeper, should this process die here."""
    if (key := limits.key_of(job)) is not None:
        limits.unpark(key, now)
    if job.priority >= Priority.USER_ACTION:
        followers.free_preempted(job.id, now)
    if move == "wait":
        family.release(job.id, now)
    if job.parent_id is not None:
        family.release(job.parent_id, now)
    if job.overlap_key and BY_NAME[move].target in FINAL:
        admission.admit([job.overlap_key], now)
    hints.wake()
