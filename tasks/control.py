"""What operators can do to jobs. The admin, the bus and the command line all call these; each is audited."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime
from uuid import UUID

from django.db import transaction
from django.db.models import Q

from jobsplatform.kernel import audit, clock, events
from jobsplatform.kernel.audit import Actor
from jobsplatform.kernel.db import after_commit, retry_deadlocks
from jobsplatform.kernel.errors import IllegalMove, JobNotFound
from tasks import (
    admission,
    call_off,
    dedupe,
    finish,
    followers,
    hints,
    idempotency,
    queries,
    submit,
    transitions,
)
from tasks.cancel_many import cancel_together
from tasks.events import CancelRequested, JobMoved
from tasks.filters import JobFilter, read_id
from tasks.models import Job
from tasks.requests import JobRequest
from tasks.states import ACTIVE, DECIDED, FINAL, CancelReason, Dedupe, Hold, Role, State
from tasks.switches import set_tenant_state, suspend, unsuspend

__all__ = [
    "CancelResult",
    "cancel",
    "cancel_by_filter",
    "interrupt_worker",
    "preempt",
    "resume",
    "retry",
    "set_tenant_state",
    "suspend",
    "unsuspend",
]


@dataclass(frozen=True, slots=True)
class CancelResult:
    """``how``: cancelled (at once), requested (it runs and will see it), already_requested, already_ended."""

    job: Job
    how: str
    children: int = 0


def _locked(job_id: UUID | str) -> Job:
    wanted = read_id(job_id)
    job = Job.objects.select_for_update().filter(id=wanted).first()
    if job is None:
        raise JobNotFound(wanted)
    return job


# -- cancel ------------------------------------------------------------------------------------------


def cancel(
    job_id: UUID | str,
    *,
    actor: Actor,
    cascade: bool = False,
    reason: CancelReason = CancelReason.USER,
    now: datetime | None = None,
) -> CancelResult:
    """Cancel a job: at once where it does not run; a running one is asked to stop, and killed after its grace.

    ``cascade``: its descendants too. An ended job is left as it is. Raises JobNotFound, InvalidInput.
    """
    now = now or clock.now()
    result = _cancel_one(job_id, reason, actor, now)
    children = (
        sum(_cancel_one(c, reason, actor, now).how in _CHANGED for c in queries.descendants(result.job.id))
        if cascade
        else 0
    )
    return CancelResult(result.job, result.how, children)


_CHANGED = ("cancelled", "requested")

FIRST_BATCH = 100
HELD_SECONDS = 0.2
"""A batch that held its rows for longer is followed by a smaller one."""


@retry_deadlocks
@transaction.atomic
def _cancel_one(job_id: UUID | str, reason: CancelReason, actor: Actor, now: datetime) -> CancelResult:
    job = _locked(job_id)
    before = job.state
    if job.state in FINAL:
        return CancelResult(job, "already_ended")
    if job.state == State.RUNNING:
        how = "requested" if call_off.ask_to_stop(job, reason, now) else "already_requested"
    else:
        how = "cancelled"
        call_off.cancel(job, reason, now)
        after_commit(lambda: finish.let_go(job, "cancel", now))
    if how in _CHANGED:
        audit.record(
            "job.cancel",
            "job",
            job.id,
            actor=actor,
            before={"state": before},
            after={"how": how, "reason": str(reason)},
            tenant_id=job.tenant_id,
            app_id=job.app_id,
        )
        hints.wake()
    return CancelResult(job, how)


def cancel_by_filter(wanted: JobFilter, *, actor: Actor, dry_run: bool = False, batch: int = 500) -> int:
    """Cancel every active job that matches, in batches, oldest first; returns how many (would) change.

    Jobs that nothing hangs on go together, a batch in a short transaction; every other one by itself. So nobody
    waits for the whole.
    """
    rows = wanted.queryset().filter(state__in=sorted(ACTIVE)).order_by("id")
    if dry_run:
        return rows.count()
    now, changed, last, size = clock.now(), 0, None, min(batch, FIRST_BATCH)
    while True:
        part = list((rows.filter(id__gt=last) if last else rows).values_list("id", flat=True)[:size])
        if not part:
            break
        began = clock.monotonic()
        together = cancel_together(part, CancelReason.USER, actor, now)
        changed += len(together)
        for job_id in part:
            if job_id not in together:
                changed += _cancel_one(job_id, CancelReason.USER, actor, now).how in _CHANGED
        size = min(batch, size * 2) if clock.monotonic() - began < HELD_SECONDS else max(1, size // 2)
        last = part[-1]
    after = {"changed": changed, "filter": wanted.as_mapping()}
    audit.record("jobs.cancel_by_filter", "jobs", "filter", actor=actor, after=after)
    return changed


def interrupt_worker(process_id: UUID, reason: CancelReason, now: datetime | None = None) -> int:
    """Ask every run of one worker to stop (drain); returns how many were asked."""
    now = now or clock.now()
    rows = Job.objects.filter(worker_id=process_id, state=State.RUNNING).values_list("id", "handler_key")
    asked = 0
    for job_id, handler_key in rows:
        if transitions.ask_to_stop(job_id, reason, now):
            asked += 1
            events.emit(CancelRequested(job_id, handler_key, reason))
    return asked


def preempt(job_id: UUID | str, *, actor: Actor, by: UUID | None = None, now: datetime | None = None) -> bool:
    """Ask a running job to give way (to ``by``, when given). False: it does not run, or was asked to stop already."""
    now = now or clock.now()
    wanted = read_id(job_id)
    with transaction.atomic():
        asked = transitions.ask_to_stop(wanted, CancelReason.PREEMPTED, now, by=by)
        if asked:
            job = Job.objects.only("tenant_id", "app_id").get(id=wanted)
            audit.record(
                "job.preempt",
                "job",
                wanted,
                actor=actor,
                before={"state": State.RUNNING},
                after={"asked_to_stop": CancelReason.PREEMPTED, "by": str(by) if by else None},
                tenant_id=job.tenant_id,
                app_id=job.app_id,
            )
    return asked


# -- again -------------------------------------------------------------------------------------------


def retry(job_id: UUID | str, *, actor: Actor, now: datetime | None = None) -> Job | submit.SubmitResult:
    """Run a failed or cancelled job again, with a new budget; with it its failed children, and those that were
    cancelled with it.

    An alias is submitted anew; while the job that this made is active, a second click gives that one. A job whose
    dedupe key has a newer active job follows its type's rule: it becomes that one's alias, or (``keep_latest``,
    ``reject``) the retry is refused. Raises IllegalMove when the job is not failed or cancelled.
    """
    now = now or clock.now()
    job = Job.objects.filter(id=read_id(job_id)).first()
    if job is None:
        raise JobNotFound(read_id(job_id))
    if job.state not in (State.FAILED, State.CANCELLED):
        raise IllegalMove(
            f"Job {job.id} is {job.state}; only a failed or cancelled job can be retried.",
            job_id=str(job.id),
            state=job.state,
        )
    if job.role == Role.ALIAS:
        return _submit_again(job, actor)
    return _retry_one(job.id, actor, now)


def _submit_again(job: Job, actor: Actor) -> submit.SubmitResult:
    key = f"jobsplatform.retry:{job.id}"
    with transaction.atomic():
        _locked(job.id)
        made = idempotency.take_back(job, key)
        if made is not None:
            return submit.SubmitResult(made, "replayed")
        result = submit.submit(
            JobRequest(
                job.job_type,
                job.params,
                app_id=job.app_id,
                idempotency_key=key,
                priority=job.priority,
                queue=job.queue,
                dedupe_key=job.dedupe_key,
                dedupe=job.dedupe,
                concurrency_key=job.concurrency_key,
                user_id=job.user_id,
                tenant_id=job.tenant_id,
                max_attempts=job.max_attempts,
                origin="manual",
            )
        )
        audit.record(
            "job.retry",
            "job",
            job.id,
            actor=actor,
            before={"state": job.state},
            after={"new_job": str(result.id), "status": result.status},
            tenant_id=job.tenant_id,
            app_id=job.app_id,
        )
    return result


@retry_deadlocks
@transaction.atomic
def _retry_one(job_id: UUID, actor: Actor, now: datetime) -> Job:
    job = _locked(job_id)
    before, columns = job.state, dict[str, object]()
    if job.run_after is not None and job.run_after > now:  # cancelled before its time: it keeps it
        columns = {"due_at": job.run_after, "hold": Hold.LATER}
    elif job.overlap in DECIDED:
        columns = {"hold": Hold.OVERLAP}
    if job.dedupe_key:
        columns |= _rejoin(job)
    if not transitions.revive(job.id, now, **columns):
        raise IllegalMove(
            f"Job {job.id} is {job.state}; only a failed or cancelled job can be retried.", job_id=str(job.id)
        )
    audit.record(
        "job.retry",
        "job",
        job.id,
        actor=actor,
        before={"state": before},
        after={"state": State.PENDING},
        tenant_id=job.tenant_id,
        app_id=job.app_id,
    )
    events.emit(
        JobMoved(job.id, job.handler_key, "revive", State.PENDING, job.lease, job.queue, "retried by hand")
    )
    if columns.get("role") == Role.ALIAS:
        after_commit(lambda: followers.check(job.id, clock.now()))
    after_commit(lambda: admission.admit([job.overlap_key], clock.now()))
    for child in _ended_with(job.id, before):
        if _locked(child).state in (State.FAILED, State.CANCELLED):  # somebody may just have retried it alone
            _retry_one(child, actor, now)
    hints.wake()
    return Job.objects.get(id=job.id)


def _ended_with(parent_id: UUID, parent_was: str) -> list[UUID]:
    """The children that a retried parent needs again: failed ones, and those its own cancel took along."""
    bad = Q(state=State.FAILED)
    if parent_was == State.CANCELLED:
        bad |= Q(state=State.CANCELLED, reason__in=[CancelReason.USER, CancelReason.SUPERSEDED])
    return list(Job.objects.filter(bad, parent_id=parent_id).order_by("id").values_list("id", flat=True))


def _rejoin(job: Job) -> dict[str, object]:
    """The part that a retried job plays now: its key may have a newer leader."""
    leader = dedupe.find_leader(job)
    if leader is None:
        return {"role": Role.LEADER, "leader_id": None}
    if job.dedupe == Dedupe.ALIAS:
        return {"role": Role.ALIAS, "leader_id": leader, "hold": Hold.ALIAS}
    raise IllegalMove(
        f"Job {job.id} cannot be retried: the newer job {leader} is active with its dedupe key {job.dedupe_key!r}.",
        job_id=str(job.id),
        leader_id=str(leader),
    )


def resume(job_id: UUID | str, *, actor: Actor, now: datetime | None = None) -> Job:
    """Let a paused job run again. Raises IllegalMove when it is not paused, JobNotFound."""
    now = now or clock.now()
    with transaction.atomic():
        job = _locked(job_id)
        if not transitions.resume(job.id, now, "resumed by hand"):
            raise IllegalMove(
                f"Job {job.id} is {job.state}, not paused.", job_id=str(job.id), state=job.state
            )
        audit.record(
            "job.resume",
            "job",
            job.id,
            actor=actor,
            before={"state": State.PAUSED},
            after={"state": State.PENDING},
            tenant_id=job.tenant_id,
            app_id=job.app_id,
        )
        events.emit(
            JobMoved(
                job.id, job.handler_key, "resume", State.PENDING, job.lease, job.queue, "resumed by hand"
            )
        )
        hints.wake()
        return Job.objects.get(id=job.id)
