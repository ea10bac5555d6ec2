"""What saving a schedule would change: slots that come, slots that go, clock changes that it meets. Writes nothing."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime, timedelta

from scheduler import definition, timetables
from scheduler.models import Schedule
from scheduler.spec import ScheduleSpec
from scheduler.timetables.base import Timetable
from scheduler.timetables.errors import TimetableError

DAYS = 90
"""How far slots are compared."""

SHOWN = 100
"""Slots told of each kind, at most."""


@dataclass(frozen=True, slots=True)
class Impact:
    """``added`` and ``removed``: slots of the next 90 days, the first 100 of each; ``clock_changes``: what
    ``timetables.clock_changes`` tells; ``upcoming``: the next slots of the rule as it would be."""

    added: tuple[datetime, ...]
    removed: tuple[datetime, ...]
    clock_changes: tuple[timetables.ClockChange, ...]
    upcoming: tuple[datetime, ...]


def impact(
    spec: ScheduleSpec, now: datetime, *, standing: Schedule | None = None, upcoming: int = 5
) -> Impact:
    """What would change if ``spec`` were stored now, in place of ``standing`` or as a new schedule.

    Raises ScheduleInvalid, with every fault, as saving would.
    """
    wanted = definition.columns(spec, now=now, standing=standing)
    new = timetables.build(
        wanted["trigger_type"], wanted["trigger_config"], wanted["timezone"], schedule_id=wanted["id"]
    )
    until = now + timedelta(days=DAYS)
    old = _timetable(standing)
    added, removed = _slots(new, now, until, SHOWN), list[datetime]()
    if old is not None:
        added, removed = timetables.difference(old, new, now, until, SHOWN)
    changes = timetables.clock_changes(new, wanted["timezone"], now)
    return Impact(tuple(added), tuple(removed), tuple(changes), tuple(_slots(new, now, None, upcoming)))


def _timetable(standing: Schedule | None) -> Timetable | None:
    if standing is None:
        return None
    try:
        return definition.timetable_of(standing)
    except TimetableError:
        return None


def _slots(timetable: Timetable, after: datetime, until: datetime | None, most: int) -> list[datetime]:
    slots: list[datetime] = []
    slot = timetable.next(after)
    while slot is not None and len(slots) < most and (until is None or slot <= until):
        slots.append(slot)
        slot = timetable.next(slot)
    return slots
