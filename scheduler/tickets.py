"""Slots that shall become jobs: the wish for the job, what became of it, and the row of the log."""

from __future__ import annotations

from collections.abc import Generator, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from hashlib import sha256
from typing import Any
from uuid import UUID

from django.db import transaction

from jobsplatform.kernel import context
from jobsplatform.kernel.context import Context
from jobsplatform.kernel.errors import DuplicateJob, PlatformError
from jobsplatform.kernel.ids import uuid7
from jobsplatform.kernel.instants import text
from jobsplatform.kernel.models import Tenant
from scheduler import retention
from scheduler.decisions import Decision
from scheduler.models import Schedule
from scheduler.slots import Slot
from scheduler.states import ORIGIN_AUTO, Status
from tasks import submit
from tasks.models import KEY_LENGTH
from tasks.requests import JobRequest, TenantStates
from tasks.submit import SubmitResult

ALREADY_RUNNING = "already_running"
DUPLICATE = "duplicate"
"""A type that refuses duplicates has an unfinished job of the same key."""

TENANT_SUSPENDED = "tenant suspended"
TENANT_ARCHIVED = "tenant archived"
_GATES = {str(Tenant.State.SUSPENDED): TENANT_SUSPENDED, str(Tenant.State.ARCHIVED): TENANT_ARCHIVED}

LIVE, MANUAL, BACKFILL = "live", "manual", "backfill"


@dataclass(frozen=True, slots=True)
class Hand:
    """Who decides, for the log. The lock keeps rivals quiet and proves nothing."""

    by: str = ""
    lock_key: str = ""
    fencing_token: int | None = None


@dataclass(slots=True)
class Ticket:
    """A slot, or a run without one, that shall become a job. ``due_at``: its job does not start before;
    ``interval_ms``: to the next slot, for types that allow one job at a time (None: it waits for its turn)."""

    schedule: Schedule
    tenant_id: str
    planned_at: datetime | None
    due_at: datetime | None = None
    job_origin: str = LIVE
    window_start: datetime | None = None
    origin: str = ORIGIN_AUTO
    params: Mapping[str, Any] | None = None
    force: bool = False
    interval_ms: int | None = None
    user_id: str = ""
    request_id: str = ""
    traceparent: str = ""
    context: Context = Context()


@dataclass(frozen=True, slots=True)
class Verdict:
    """What became of a ticket."""

    status: Status
    reason: str = ""
    task_id: UUID | None = None
    error: str = ""


def tenant_states(tenant_ids: set[str]) -> TenantStates:
    """The states of tenants; None for one that nobody has registered."""
    wanted = sorted(tenant_ids - {""})
    if not wanted:
        return {}
    rows = Tenant.objects.filter(tenant_id__in=wanted).values_list("tenant_id", "state")
    return {**dict.fromkeys(wanted), **dict(rows)}


def gate(states: TenantStates, tenant_id: str) -> str:
    """Why no slot of this tenant fires; empty when they may."""
    return _GATES.get(states.get(tenant_id) or "", "")


def submit_all(tickets: Sequence[Ticket], now: datetime, states: TenantStates) -> list[Verdict]:
    """Make the jobs, all or none. Raises what ``tasks.submit`` raises."""
    if not tickets:
        return []
    requests = _requests(tickets, now)
    try:
        made = submit.submit_many(requests, now, tenants=states)
    finally:
        requests.close()  # whatever stopped it: the context of its last job must not stay in force
    return [_verdict(result) for result in made]


def submit_each(tickets: Sequence[Ticket], now: datetime, states: TenantStates) -> list[Verdict]:
    """Make the jobs one by one: what cannot become a job is decided as failed, and stops no other."""
    verdicts = []
    for ticket in tickets:
        try:
            with transaction.atomic():
                verdicts += submit_all([ticket], now, states)
        except DuplicateJob as error:
            verdicts.append(Verdict(Status.SKIPPED, DUPLICATE, error=error.message))
        except PlatformError as error:
            verdicts.append(failed(error))
    return verdicts


def failed(error: PlatformError) -> Verdict:
    """The verdict on a slot that cannot become a job."""
    return Verdict(Status.FAILED, error.code, error=error.message)


def _verdict(result: SubmitResult) -> Verdict:
    if result.status == "skipped":
        return Verdict(Status.SKIPPED, str((result.outcome or {}).get("skipped", ALREADY_RUNNING)))
    return Verdict(Status.FIRED, task_id=result.id)


def _requests(tickets: Sequence[Ticket], now: datetime) -> Generator[JobRequest]:
    """The wishes, each given out within the context that its job is to have."""
    for ticket in tickets:
        ticket.context = Context(
            request_id=ticket.request_id or context.new_request_id(),
            traceparent=ticket.traceparent or context.new_traceparent(),
            tenant_id=ticket.tenant_id,
            user_id=ticket.user_id,
            method="SCHEDULER",
            route=f"scheduler:{ticket.schedule.pk}",
        )
        with context.use(ticket.context):
            yield _request(ticket, now)


def _request(ticket: Ticket, now: datetime) -> JobRequest:
    schedule = ticket.schedule
    # A backfill runs old slots, as many at once as it says: it is not late, and live slots do not wait for it.
    backfill = ticket.job_origin == BACKFILL
    due = ticket.due_at or (None if backfill else ticket.planned_at) or now
    latest = schedule.latest_start_seconds
    overlap, tick = schedule.overlap, None
    if ticket.force or backfill:
        overlap = ""
    elif not overlap and ticket.job_origin in (LIVE, MANUAL):
        tick = ticket.interval_ms
    return JobRequest(
        schedule.job_type,
        schedule.params if ticket.params is None else ticket.params,
        app_id=schedule.app_id,
        run_after=due if due > now else None,
        priority=schedule.priority,
        queue=schedule.queue or None,
        idempotency_key=job_key(schedule.pk, ticket.tenant_id, ticket.planned_at, ticket.origin),
        user_id=ticket.user_id,
        tenant_id=ticket.tenant_id,
        max_attempts=schedule.max_attempts,
        origin=ticket.job_origin,
        schedule_id=schedule.pk,
        planned_at=ticket.planned_at,
        window_start=ticket.window_start,
        force=ticket.force,
        tick_interval_ms=tick,
        overlap=overlap,
        overlap_key=overlap_key(schedule.pk, ticket.tenant_id) if overlap else "",
        latest_start_at=_shifted(due, latest) if latest is not None else None,
    )


def overlap_key(schedule_id: str, tenant_id: str) -> str:
    """The jobs of one schedule, for one tenant, must not overlap one another."""
    return f"schedule:{schedule_id}:{tenant_id}"


def job_key(schedule_id: str, tenant_id: str, planned_at: datetime | None, origin: str) -> str:
    """The idempotency key of a slot's job; of one that would be too long, its start and its digest."""
    parts = ["schedule", schedule_id, tenant_id]
    parts += [text(planned_at)] if planned_at is not None else []
    parts += [origin] if origin != ORIGIN_AUTO else []
    key = ":".join(parts)
    if len(key) <= KEY_LENGTH:
        return key
    return f"{key[: KEY_LENGTH - 65]}#{sha256(key.encode()).hexdigest()}"


def _shifted(instant: datetime, seconds: float) -> datetime | None:
    try:
        return instant + timedelta(seconds=seconds)
    except OverflowError:
        return None  # later than time itself


# -- rows of the log ---------------------------------------------------------------------------------


def slot_of(ticket: Ticket, verdict: Verdict, now: datetime, hand: Hand) -> Slot:
    """The row of a ticket."""
    schedule = ticket.schedule
    return Slot(
        id=uuid7(),
        schedule_id=schedule.pk,
        tenant_id=ticket.tenant_id,
        planned_at=ticket.planned_at,
        planned_until=None,
        slot_count=1,
        origin=ticket.origin,
        triggered_at=now,
        status=verdict.status.value,
        reason=verdict.reason,
        task_id=verdict.task_id,
        task_type=task_type(schedule),
        request_id=ticket.context.request_id,
        trace_id=ticket.context.trace_id,
        error=verdict.error,
        revision=schedule.revision,
        decided_by=hand.by,
        lock_key=hand.lock_key,
        fencing_token=hand.fencing_token,
        purge_at=retention.purge_at(schedule.log_days, now, ticket.planned_at),
    )


def decision_of(
    schedule: Schedule, tenant_id: str, decision: Decision, now: datetime, hand: Hand, error: str = ""
) -> Slot:
    """The row of slots that do not run."""
    many = decision.count > 1
    return Slot(
        id=uuid7(),
        schedule_id=schedule.pk,
        tenant_id=tenant_id,
        planned_at=decision.planned_at,
        planned_until=decision.planned_until if many else None,
        slot_count=decision.count,
        origin=ORIGIN_AUTO,
        triggered_at=now,
        status=decision.status.value,
        reason=decision.reason,
        task_id=None,
        task_type=task_type(schedule),
        request_id="",
        trace_id="",
        error=error,
        revision=schedule.revision,
        decided_by=hand.by,
        lock_key=hand.lock_key,
        fencing_token=hand.fencing_token,
        purge_at=retention.purge_at(schedule.log_days, now, decision.planned_until),
    )


def task_type(schedule: Schedule) -> str:
    """The job type as ``app_id:job_type``, the host's own without the colon."""
    return f"{schedule.app_id}:{schedule.job_type}" if schedule.app_id else schedule.job_type
