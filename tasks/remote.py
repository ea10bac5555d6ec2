"""The one door for writes into a run that come from outside, under its lease: a sidecar's.

Everything names the app: another app's job is as if it were not there. A job that was deferred (it waits to be finished
from outside) is written to like one that runs. Each answer says whether to stop, and how long the lease holds.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any
from uuid import UUID

from django.db import transaction
from django.db.models import Q

from jobsplatform.kernel import config, events
from jobsplatform.kernel.db import after_commit
from jobsplatform.kernel.errors import JobNotFound, StaleLease
from jobsplatform.kernel.models import Process
from tasks import each, finish, registry, spawning, transitions
from tasks.context import LABEL_LENGTH, Requested
from tasks.events import JobMoved, LeaseRejected, ProgressMade
from tasks.grace import grace_of
from tasks.json_values import check_json, clean_text
from tasks.models import Job
from tasks.outcomes import Ending
from tasks.states import CancelReason, State

_READ = ("id", "app_id", "job_type", "handler_key", "state", "lease", "worker_id", "cancel_reason", "open_end",
         "deadline_at", "started_at")  # fmt: skip
_HELD = Q(state=State.RUNNING) | Q(state=State.WAITING, open_end=True)

NOT_NAMED = "its sidecar does not know of it"


@dataclass(frozen=True, slots=True)
class Standing:
    """How a run stands. ``cancel``: why it should stop, NONE when it need not; ``worker_id``: whose it is, None for
    a deferred job; ``expires_at``: of one, its deadline."""

    state: State
    cancel: CancelReason
    worker_id: UUID | None
    expires_at: datetime | None


def standing(job: Job, now: datetime) -> Standing:
    """What a sidecar is told of a run that it holds."""
    return Standing(
        State(job.state), cancel_of(job, now), job.worker_id, None if job.worker_id else job.deadline_at
    )


def cancel_of(job: Job, now: datetime) -> CancelReason:
    """Why a run should stop: because somebody asked for it, or its soft limit has passed."""
    if job.cancel_reason or job.state != State.RUNNING or job.started_at is None:
        return CancelReason(job.cancel_reason)
    handler = registry.find(job.app_id, job.job_type)
    soft = handler.spec.soft_timeout if handler is not None else None
    late = soft is not None and job.started_at + timedelta(seconds=soft) <= now
    return CancelReason.TIMEOUT if late else CancelReason.NONE


def held(app_id: str, runs: Sequence[tuple[UUID, int]]) -> dict[tuple[UUID, int], Job]:
    """Those of these runs that still hold their leases, by (id, lease)."""
    rows = Job.objects.filter(_HELD, id__in=[job_id for job_id, _ in runs], app_id=app_id).only(*_READ)
    wanted = set(runs)
    return {(job.id, job.lease): job for job in rows if (job.id, job.lease) in wanted}


def find(app_id: str, job_id: UUID, lease: int, where: str, *columns: str) -> Job:
    """The job, while it is held under this lease. Raises JobNotFound, StaleLease (whose facts name its state)."""
    job = Job.objects.filter(id=job_id, app_id=app_id).only(*_READ, *columns).first()
    if job is None:
        raise JobNotFound(job_id)
    waits = job.state == State.WAITING and job.open_end
    if job.lease != lease or not (job.state == State.RUNNING or waits):
        raise _stale(job, lease, where)
    return job


def _stale(job: Job, lease: int, where: str) -> StaleLease:
    events.emit(LeaseRejected(job.id, lease, where))
    error = StaleLease(job.id, lease)
    error.facts["state"] = str(job.state)
    return error


def _lost(job: Job, where: str) -> StaleLease:
    """It was held when we looked, and not any more when we wrote."""
    job.refresh_from_db(fields=["state"])
    return _stale(job, job.lease, where)


# -- while it runs -----------------------------------------------------------------------------------


def progress(
    app_id: str, job_id: UUID, lease: int, done: float, total: float | None, label: str, now: datetime
) -> Standing:
    """Write how far it is; a ``total`` below ``done`` is raised to it. Raises what ``find`` raises."""
    job = find(app_id, job_id, lease, "progress")
    whole = None if total is None else max(total, done)
    text = clean_text(label, LABEL_LENGTH)
    if not transitions.progress(job_id, lease, done, whole, text, now, deferred=True):
        raise _lost(job, "progress")
    events.emit(ProgressMade(job_id, job.handler_key))
    return standing(job, now)


def checkpoint(app_id: str, job_id: UUID, lease: int, cursor: Any, now: datetime) -> Standing:
    """Save where a later run goes on. Raises what ``find`` raises, ParamsInvalid, ParamsTooLarge."""
    cursor = check_json(cursor, what="cursor", max_bytes=config.get().tasks.result_max_bytes)
    job = find(app_id, job_id, lease, "checkpoint")
    if not transitions.checkpoint(job_id, lease, cursor, now, deferred=True):
        raise _lost(job, "checkpoint")
    return standing(job, now)


def merge(
    app_id: str, job_id: UUID, lease: int, patch: Mapping[str, Any], now: datetime
) -> tuple[dict[str, Any], Standing]:
    """Put values over the job's data; the whole of it. Raises what ``checkpoint`` raises."""
    patch = check_json(dict(patch), what="data")
    job = find(app_id, job_id, lease, "data", "data")
    check_json({**job.data, **patch}, what="data", max_bytes=config.get().tasks.result_max_bytes)
    whole = transitions.merge_data(job_id, lease, patch, now, deferred=True)
    if whole is None:
        raise _lost(job, "data")
    return whole, standing(job, now)


def spawn(
    app_id: str, job_id: UUID, lease: int, children: Sequence[Requested], ignore_failures: bool, now: datetime
) -> tuple[list[UUID], Standing]:
    """Make the children that it does not have yet; the ids of all, in order. Raises what ``find`` and
    ``submit`` raise."""
    job = find(app_id, job_id, lease, "children", "tenant_id", "user_id")
    ids = spawning.spawn(job, children, ignore_failures, now, deferred=True)
    if ids is None:
        raise _lost(job, "children")
    return ids, standing(job, now)


# -- its end -----------------------------------------------------------------------------------------


def end(
    app_id: str, job_id: UUID, lease: int, ending: Ending, now: datetime, *, deferred: bool = True
) -> Standing:
    """Write its end; how the job stands then. ``deferred`` False: not that of a job which its sidecar has deferred by
    itself meanwhile. Raises what ``checkpoint`` raises."""
    job = find(app_id, job_id, lease, "finish")
    if finish.under_lease(job_id, lease, ending, now, deferred=deferred) is None:
        raise _lost(job, "finish")
    job.refresh_from_db(fields=list(_READ))
    return standing(job, now)


@transaction.atomic
def hand_back(job_id: UUID, lease: int, reason: str, now: datetime) -> bool:
    """A run that its sidecar does not work on waits again, free of charge; one that was to stop has stopped."""
    job = Job.objects.select_for_update().filter(id=job_id, lease=lease).first()
    if job is None:
        return False
    if job.state == State.DISPATCHED:
        done = transitions.hand_back(job_id, lease, reason, now)
    elif job.state == State.RUNNING and job.cancel_reason:
        return finish.killed(job_id, lease, now, reason) is not None
    else:
        done = job.state == State.RUNNING and transitions.interrupt(job_id, lease, now, reason=reason)
    if done:
        events.emit(
            JobMoved(job.id, job.handler_key, "interrupt", State.PENDING, lease, job.queue, reason,
                     worker_id=job.worker_id, parent_id=job.parent_id)
        )  # fmt: skip
        after_commit(lambda: finish.let_go(job, "interrupt", now))
    return done


def hand_back_all(process_id: UUID, reason: str, now: datetime) -> int:
    """Whatever a sidecar still holds that has ended in good order."""
    rows = Job.objects.filter(worker_id=process_id).order_by("id").values_list("id", "lease")
    return sum(hand_back(job_id, lease, reason, now) for job_id, lease in rows)


# -- what ends without its sidecar's word ------------------------------------------------------------


def sweep(now: datetime) -> int:
    """Runs of sidecars that are past their limit or did not stop within their grace end on record, as where a pool
    cannot kill; jobs that were given to one and never begun wait again. How many that were."""
    sidecars = Process.objects.filter(role=Process.Role.SIDECAR, stopped_at=None, lost_at=None)
    if not sidecars.exists():
        return 0
    ids = sidecars.values("id")
    overdue = Q(cancel_requested_at__isnull=False) | Q(deadline_at__lte=now)
    runs = Job.objects.filter(overdue, worker_id__in=ids, state=State.RUNNING).order_by("id")
    late = now - timedelta(seconds=config.get().tasks.resend_seconds)
    unbegun = Job.objects.filter(worker_id__in=ids, state=State.DISPATCHED, dispatched_at__lte=late)
    return each.done("the end of an overdue run", runs, lambda job: _end_overdue(job, now)) + each.done(
        "the hand-back of an unbegun job",
        unbegun.order_by("id"),
        lambda job: hand_back(job.id, job.lease, "was not begun", now),
    )


def _end_overdue(job: Job, now: datetime) -> bool:
    if job.deadline_at is not None and job.deadline_at <= now:
        error = "ran past its time limit; its sidecar cannot be killed, what it still writes is refused"
        return finish.timed_out(job.id, job.lease, now, error) is not None
    grace = grace_of(job)
    if job.cancel_requested_at is None or job.cancel_requested_at + timedelta(seconds=grace) > now:
        return False
    why = f"did not stop within its grace of {grace:g} s ({job.cancel_reason}); its sidecar cannot be killed"
    if job.cancel_reason == CancelReason.TIMEOUT:
        return finish.timed_out(job.id, job.lease, now, why) is not None
    return finish.killed(job.id, job.lease, now, why) is not None
