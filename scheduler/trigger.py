"""One slot, or one run without a slot, becomes a job: decision, job and keys in one transaction.

The proof is the unique key of the trigger log, never a lock: whoever comes second finds the row of the first.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from datetime import UTC, datetime

from django.db import IntegrityError, transaction

from jobsplatform.kernel import events
from jobsplatform.kernel.db import retry_deadlocks
from jobsplatform.kernel.errors import InvalidInput, JobNotFound, PlatformError
from jobsplatform.kernel.instants import text
from scheduler import steps, tickets
from scheduler.errors import ScheduleArchived, ScheduleNotFound, ScheduleTriggerConflict
from scheduler.models import ORIGIN_LENGTH, Schedule, ScheduleState, ScheduleTriggerLog
from scheduler.requests import ScheduleTriggerRequest, ScheduleTriggerResult
from scheduler.slots import Slot
from scheduler.sql import log
from scheduler.states import ORIGIN_AUTO, Audience, Status
from scheduler.tickets import Hand, Ticket, Verdict
from tasks import queries, registry


@retry_deadlocks
def trigger(request: ScheduleTriggerRequest, now: datetime) -> ScheduleTriggerResult:
    """Decide a slot, or run the schedule without one; asked again it gives the same answer, ``replayed``.

    Works while the schedule is paused. A slot that cannot become a job is decided as failed, and the answer says so;
    a run with params of its own that are refused raises, and nothing is stored. Raises ScheduleNotFound,
    ScheduleArchived, ScheduleTriggerConflict (the slot or key made a job of another type or with other params),
    InvalidInput, and what ``tasks.submit`` raises.
    """
    request = _checked(request)
    with transaction.atomic():
        # Whoever plans this schedule, or triggers it too, comes before or after.
        list(
            ScheduleState.objects.filter(schedule_id=request.schedule_id, tenant_id=request.tenant_id)
            .order_by("id")
            .select_for_update()
        )
        schedule = _schedule(request)
        standing = find(request.schedule_id, request.tenant_id, request.planned_at, request.origin)
        if standing is not None:
            return _replayed(standing, schedule, request)
        try:
            with transaction.atomic():
                slot = _decide(schedule, request, now)
        except IntegrityError:
            standing = find(request.schedule_id, request.tenant_id, request.planned_at, request.origin)
            if standing is None:
                raise
            return _replayed(standing, schedule, request)
        events.emit(slot.event())
        steps.reached("before_commit")
    steps.reached("committed")
    return slot.result()


def find(
    schedule_id: str, tenant_id: str, planned_at: datetime | None, origin: str = ORIGIN_AUTO
) -> ScheduleTriggerLog | None:
    """The decision about a slot, be it as one of a range; or that of a run without a slot."""
    rows = ScheduleTriggerLog.objects.filter(schedule_id=schedule_id, tenant_id=tenant_id, origin=origin)
    exact = rows.filter(planned_at=planned_at).first()
    if exact is not None or planned_at is None or origin != ORIGIN_AUTO:
        return exact
    # Ranges do not overlap one another: the first that ends at the slot or later is the only one that may hold it.
    following = rows.filter(planned_until__gte=planned_at).order_by("planned_until").first()
    if following is None or following.planned_at is None or following.planned_at > planned_at:
        return None
    return following


def _checked(request: ScheduleTriggerRequest) -> ScheduleTriggerRequest:
    if not request.origin or len(request.origin) > ORIGIN_LENGTH:
        raise InvalidInput(f"origin: expected 1 to {ORIGIN_LENGTH} characters, got {len(request.origin)}.")
    if request.planned_at is None:
        if request.origin == ORIGIN_AUTO:
            raise InvalidInput(
                "planned_at: say which slot, or give an origin such as manual:<key> of its own."
            )
        return request
    if request.planned_at.tzinfo is None:
        raise InvalidInput(
            f"planned_at: expected an instant with a time zone, got {request.planned_at.isoformat()}. "
            "Append Z or an offset."
        )
    return replace(request, planned_at=request.planned_at.astimezone(UTC))


def _schedule(request: ScheduleTriggerRequest) -> Schedule:
    schedule = Schedule.objects.filter(pk=request.schedule_id).first()
    if schedule is None:
        raise ScheduleNotFound(request.schedule_id, Schedule.objects.values_list("pk", flat=True)[:1000])
    if schedule.archived_at is not None:
        raise ScheduleArchived(
            f"The schedule {schedule.pk!r} is archived: restore it before it is run.", schedule_id=schedule.pk
        )
    if schedule.audience == Audience.GLOBAL and request.tenant_id:
        raise InvalidInput(
            f"tenant_id: the schedule {schedule.pk!r} runs once for the whole host, not for a tenant. Leave it out."
        )
    if schedule.audience != Audience.GLOBAL and not request.tenant_id:
        raise InvalidInput(f"tenant_id: the schedule {schedule.pk!r} runs for tenants. Name one.")
    return schedule


def _decide(schedule: Schedule, request: ScheduleTriggerRequest, now: datetime) -> Slot:
    ticket = Ticket(
        schedule=schedule,
        tenant_id=request.tenant_id,
        planned_at=request.planned_at,
        job_origin=request.job_origin,
        window_start=request.window_start,
        origin=request.origin,
        params=request.params,
        force=request.force,
        interval_ms=0,  # somebody asks for it
        user_id=request.user_id,
        request_id=request.request_id,
        traceparent=request.traceparent,
    )
    steps.reached("planned")
    steps.reached("before_job")
    slot_wanted = request.planned_at is not None
    tenants = tickets.tenant_states({request.tenant_id})
    gate = tickets.gate(tenants, request.tenant_id) if request.origin == ORIGIN_AUTO else ""
    if gate:
        verdict = Verdict(Status.SKIPPED, gate)
    else:
        give = tickets.submit_each if slot_wanted and request.params is None else tickets.submit_all
        verdict = give([ticket], now, tenants)[0]
    slot = tickets.slot_of(ticket, verdict, now, Hand(request.by, request.lock_key, request.fencing_token))
    steps.reached("before_log")
    log.insert([slot])
    return slot


# -- asked again -------------------------------------------------------------------------------------


def _replayed(
    row: ScheduleTriggerLog, schedule: Schedule, request: ScheduleTriggerRequest
) -> ScheduleTriggerResult:
    what = f"slot {text(request.planned_at)}" if request.planned_at else f"key {request.origin!r}"
    wanted = tickets.task_type(schedule)
    if row.task_type and row.task_type != wanted:
        raise ScheduleTriggerConflict(
            f"The {what} of schedule {schedule.pk!r} was decided for {row.task_type}, which is {wanted} now: "
            "it is not run again under the same name. Run it without a slot, or with a new key.",
            schedule_id=schedule.pk,
            task_id=str(row.task_id or ""),
        )
    if request.params is not None and row.task_id is not None and _other_params(row, schedule, request):
        raise ScheduleTriggerConflict(
            f"The {what} of schedule {schedule.pk!r} has made job {row.task_id} with other params; "
            "use a new key for a new run.",
            schedule_id=schedule.pk,
            task_id=str(row.task_id),
        )
    fields: Sequence[str] = Slot._fields
    return Slot(*(getattr(row, name) for name in fields)).result(replayed=True)


def _other_params(row: ScheduleTriggerLog, schedule: Schedule, request: ScheduleTriggerRequest) -> bool:
    assert row.task_id is not None and request.params is not None
    try:
        made = queries.get_job(row.task_id)
        wanted = registry.get(schedule.app_id, schedule.job_type).schema.normalise(request.params)
    except (JobNotFound, PlatformError):
        return False  # there is nothing left to compare
    return bool(made.params != wanted)
