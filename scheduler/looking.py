"""What the states of a schedule know of the times to come, computed anew when it is written."""

from __future__ import annotations

from datetime import UTC, datetime

from scheduler import definition, parking, planning
from scheduler.decisions import Cursor
from scheduler.models import Schedule, ScheduleState
from scheduler.timetables.base import Timetable
from scheduler.timetables.errors import TimetableError

_BATCH = 500


def begin_rule(schedule: Schedule, now: datetime) -> None:
    """Put the cursors of ``schedule`` where its new rule begins: slots up to ``now`` are not of it.

    Skips stay where the new rule has a slot at the same instant.
    """
    states = list(ScheduleState.objects.filter(schedule=schedule))
    for state in states:
        state.last_planned_at = max(state.last_planned_at, now)
        state.revision = schedule.revision
        state.episode = 0
        if state.skips:
            timetable = _timetable(schedule, state.tenant_id)
            state.skips = [
                slot for slot in state.skips if timetable is not None and _matches(timetable, slot)
            ]
    ScheduleState.objects.bulk_update(
        states, ["last_planned_at", "revision", "episode", "skips"], batch_size=_BATCH
    )


def ahead(schedule: Schedule, now: datetime) -> None:
    """Compute when each state of ``schedule`` has to be looked at next: now, when a slot is undecided; never, when
    it is paused, archived, or has none to come."""
    states = list(ScheduleState.objects.filter(schedule=schedule))
    awake = set(parking.movable(ScheduleState.objects.filter(schedule=schedule)).values_list("id", flat=True))
    for state in states:
        due, state.next_slot_at = _next(schedule, state, now)
        state.next_due_at = due if state.id in awake else None
    ScheduleState.objects.bulk_update(states, ["next_due_at", "next_slot_at"], batch_size=_BATCH)


def _next(schedule: Schedule, state: ScheduleState, now: datetime) -> tuple[datetime | None, datetime | None]:
    timetable = _timetable(schedule, state.tenant_id)
    if timetable is None or timetable.follows_end:
        return now, None  # the planner says what is wrong, or when the last job ended
    cursor = Cursor(
        last_planned_at=state.last_planned_at,
        last_fired_at=state.last_fired_at,
        fired=state.fired,
        episode=state.episode,
        skips=frozenset(map(instant_of, state.skips)),
    )
    plan = planning.plan(timetable, definition.policies_of(schedule), cursor, now)
    if plan.fires or plan.decisions:
        return now, plan.fires[0].planned_at if plan.fires else plan.next_slot
    return plan.next_due, plan.next_slot


def _timetable(schedule: Schedule, tenant_id: str) -> Timetable | None:
    try:
        return definition.timetable_of(schedule, tenant_id)
    except TimetableError:
        return None


def _matches(timetable: Timetable, slot: str) -> bool:
    return timetable.matches(instant_of(slot))


def instant_of(text: str) -> datetime:
    """An instant of ``ScheduleState.skips``."""
    return datetime.fromisoformat(text).astimezone(UTC)
