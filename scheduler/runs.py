"""What people can do to single slots and runs of a schedule: run now, skip the next one, take that back."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import UTC, datetime
from typing import Any

from django.db import transaction

from jobsplatform.kernel import audit, clock
from jobsplatform.kernel.audit import Actor
from jobsplatform.kernel.db import retry_deadlocks
from jobsplatform.kernel.errors import InvalidInput, UnknownName
from jobsplatform.kernel.instants import text as iso
from scheduler import definition, fields, storing, trigger, wakeups
from scheduler.errors import ScheduleNotFound
from scheduler.looking import instant_of
from scheduler.models import ORIGIN_LENGTH, Schedule, ScheduleState
from scheduler.requests import ScheduleTriggerRequest, ScheduleTriggerResult
from scheduler.states import ORIGIN_AUTO
from scheduler.timetables.base import Timetable
from scheduler.timetables.errors import TimetableError
from tasks import registry
from tasks.requests import flag, instant, text

MANUAL = "manual:"


@retry_deadlocks
@transaction.atomic
def run_now(
    schedule_id: str,
    *,
    tenant_id: str = "",
    key: str,
    params: Mapping[str, Any] | None = None,
    force: bool = False,
    actor: Actor,
    planned_at: datetime | None = None,
    now: datetime | None = None,
) -> ScheduleTriggerResult:
    """Run a schedule's job at once, also while it is paused. It takes no slot, and moves none.

    ``key``: of this wish; the same key gives the same run back (``replayed``), however often it is sent. ``params``:
    instead of the schedule's own, all of them. ``force``: see ScheduleTriggerRequest. With ``planned_at``, a slot of
    the schedule, the one decision of that slot is made or given back, and ``key`` is not used.
    Raises ScheduleNotFound, ScheduleArchived, InvalidInput, UnknownName (of a tenant or job type), ParamsInvalid,
    ScheduleTriggerConflict when the key was used for other params.
    """
    now = now or clock.now()
    row = _found(schedule_id)
    storing.refuse_archived(row)
    _known_tenant(row, tenant_id)
    request = ScheduleTriggerRequest(
        schedule_id=row.id,
        tenant_id=tenant_id,
        planned_at=_slot(row, tenant_id, planned_at),
        origin=ORIGIN_AUTO if planned_at is not None else MANUAL + _key(key),
        params=None if params is None else _params(row, params),
        force=flag(force),
        job_origin="manual",
        user_id=actor.name[:150] if actor.kind == "user" else "",
        by=actor.name,
    )
    result = trigger.trigger(request, now)
    if not result.replayed:
        facts = {"params": request.params, "force": force, "origin": request.origin}
        audit.record(
            "schedule.run_now",
            "schedule",
            row.id,
            actor=actor,
            after=facts | {"status": result.status, "task_id": result.task_id or None},
            error=result.error,
            tenant_id=tenant_id,
            app_id=row.app_id,
            at=now,
        )
    return result


@retry_deadlocks
@transaction.atomic
def skip_next(
    schedule_id: str,
    *,
    tenant_id: str = "",
    planned_at: datetime | None = None,
    actor: Actor,
    now: datetime | None = None,
) -> datetime:
    """Have the next slot (or ``planned_at``, a coming one) decided as skipped; which one. ``unskip`` takes it back.

    Asked again, it is the one after. Raises ScheduleNotFound, ScheduleArchived, UnknownName, InvalidInput when no slot
    comes or ``planned_at`` is none.
    """
    now = now or clock.now()
    row, state = _with_state(schedule_id, tenant_id)
    skips = sorted(map(instant_of, state.skips))
    slot = _coming(row, state, _instant(planned_at), skips, now)
    if slot not in skips:
        _store_skips(row, state, [*skips, slot], "schedule.skip", slot, actor, now)
    return slot


@retry_deadlocks
@transaction.atomic
def unskip(
    schedule_id: str,
    *,
    tenant_id: str = "",
    planned_at: datetime | None = None,
    actor: Actor,
    now: datetime | None = None,
) -> datetime:
    """Let a slot that was to be skipped run after all: ``planned_at``, or the last one; which one.

    Raises ScheduleNotFound, UnknownName, InvalidInput when it is not to be skipped (any more).
    """
    now = now or clock.now()
    row, state = _with_state(schedule_id, tenant_id)
    skips = sorted(slot for slot in map(instant_of, state.skips) if slot > state.last_planned_at)
    slot = (skips[-1] if skips else None) if planned_at is None else _instant(planned_at)
    if slot is None:
        raise InvalidInput(f"Schedule {row.id!r}: no slot is to be skipped.")
    if slot not in skips:
        raise InvalidInput(
            f"Schedule {row.id!r}: the slot {iso(slot)} is not to be skipped, or is decided already."
        )
    _store_skips(row, state, [other for other in skips if other != slot], "schedule.unskip", slot, actor, now)
    return slot


def _store_skips(
    row: Schedule,
    state: ScheduleState,
    skips: list[datetime],
    action: str,
    slot: datetime,
    actor: Actor,
    now: datetime,
) -> None:
    before = state.skips
    state.skips = [iso(each) for each in sorted(skips)]
    state.save(update_fields=["skips"])
    audit.record(
        action,
        "schedule",
        row.id,
        actor=actor,
        before={"skips": before},
        after={"skips": state.skips, "slot": iso(slot)},
        tenant_id=state.tenant_id,
        app_id=row.app_id,
        at=now,
    )
    wakeups.wake()


# -- what was asked ----------------------------------------------------------------------------------


def _coming(
    row: Schedule, state: ScheduleState, wanted: datetime | None, skips: list[datetime], now: datetime
) -> datetime:
    """The slot to be skipped: ``wanted``, or the next one that is not to be skipped yet. Raises InvalidInput."""
    timetable = _timetable(row, state.tenant_id)
    if timetable.follows_end:
        raise InvalidInput(
            f"Schedule {row.id!r}: its slots follow the ends of its runs, nobody knows them yet. Pause it instead."
        )
    after = max(now, state.last_planned_at)
    slot = timetable.next(after)
    if wanted is not None and (wanted <= after or not timetable.matches(wanted)):
        hint = f" The next one is {iso(slot)}." if slot is not None else ""
        raise InvalidInput(f"planned_at: {iso(wanted)} is no coming slot of schedule {row.id!r}.{hint}")
    if wanted is not None:
        return wanted
    while slot is not None and slot in skips:
        slot = timetable.next(slot)
    if slot is None:
        raise InvalidInput(f"Schedule {row.id!r} has no coming slot that could be skipped.")
    return slot


def _timetable(row: Schedule, tenant_id: str) -> Timetable:
    try:
        return definition.timetable_of(row, tenant_id)
    except TimetableError as error:
        raise InvalidInput(f"Schedule {row.id!r} is faulty: {error}") from None


def _found(schedule_id: str) -> Schedule:
    row = Schedule.objects.filter(id=schedule_id).first()
    if row is None:
        raise ScheduleNotFound(schedule_id, Schedule.objects.values_list("id", flat=True)[:1000])
    return row


def _with_state(schedule_id: str, tenant_id: str) -> tuple[Schedule, ScheduleState]:
    row = _found(schedule_id)
    storing.refuse_archived(row)
    _known_tenant(row, tenant_id)
    state = ScheduleState.objects.select_for_update().get(schedule_id=row.id, tenant_id=tenant_id)
    return row, state


def _known_tenant(row: Schedule, tenant_id: str) -> None:
    states = ScheduleState.objects.filter(schedule_id=row.id)
    if not states.filter(tenant_id=tenant_id).exists():
        known = states.order_by("tenant_id").values_list("tenant_id", flat=True)[:1000]
        raise UnknownName(f"tenant of schedule {row.id!r}", tenant_id, [name for name in known if name])


def _key(key: str) -> str:
    key = text(key, "key", ORIGIN_LENGTH - len(MANUAL))
    if not key:
        raise InvalidInput("key: say which wish this is (any text), so that sending it twice runs it once.")
    return key


def _params(row: Schedule, params: Mapping[str, Any]) -> dict[str, Any]:
    return fields.params_of(registry.get(row.app_id, row.job_type), params)


def _instant(value: datetime | None) -> datetime | None:
    at = instant(value, "planned_at")
    return None if at is None else at.astimezone(UTC)


def _slot(row: Schedule, tenant_id: str, planned_at: datetime | None) -> datetime | None:
    at = _instant(planned_at)
    if at is not None and not _timetable(row, tenant_id).matches(at):
        raise InvalidInput(f"planned_at: {iso(at)} is no slot of schedule {row.id!r}.")
    return at
