"""The range of a backfill: what cannot be one, and the slots in it."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import datetime

from jobsplatform.kernel.errors import InvalidInput, UnknownName, did_you_mean
from jobsplatform.kernel.instants import text
from scheduler import definition, queries
from scheduler.errors import ScheduleArchived
from scheduler.models import Backfill, Schedule
from scheduler.states import Audience, TriggerType
from scheduler.timetables.base import Timetable
from scheduler.timetables.errors import TimetableError

MOST_SLOTS = 10_000
"""Of one backfill."""


def looked_at(
    schedule_id: str, after: datetime, until: datetime, mode: str, tenant_id: str, now: datetime
) -> tuple[Schedule, Timetable, int]:
    schedule = queries.find(schedule_id)
    if schedule.archived_at is not None:
        raise ScheduleArchived(
            f"Schedule {schedule_id!r} is archived. Restore it first.", schedule_id=schedule_id
        )
    if mode not in Backfill.Mode.values:
        raise UnknownName("mode", str(mode), Backfill.Mode.values)
    for name, instant in (("after", after), ("until", until)):
        if instant.tzinfo is None or instant.utcoffset() is None:
            raise InvalidInput(f"{name}: expected an instant with an offset, as {instant.isoformat()}Z.")
    if until <= after:
        raise InvalidInput(f"until: {text(until)} is not after {text(after)}.")
    if until > now:
        raise InvalidInput(
            f"until: {text(until)} lies in the future. The schedule itself runs slots to come; now is {text(now)}."
        )
    _check_tenant(schedule, tenant_id)
    timetable = timetable_of(schedule, tenant_id)
    total = timetable.count(after, until)
    if not total:
        near = [text(slot) for slot in (timetable.previous(after), timetable.next(until)) if slot is not None]
        told = f" The nearest: {', '.join(near)}." if near else ""
        raise InvalidInput(f"after, until: schedule {schedule_id!r} has no slot in that range.{told}")
    if total > MOST_SLOTS:
        raise InvalidInput(
            f"after, until: {total:,} slots lie in that range, at most {MOST_SLOTS:,} can be run by one backfill. "
            "Split the range."
        )
    return schedule, timetable, total


def _check_tenant(schedule: Schedule, tenant_id: str) -> None:
    if schedule.audience == Audience.GLOBAL and tenant_id:
        raise InvalidInput(f"tenant: schedule {schedule.id!r} runs for the whole host, not for a tenant.")
    if schedule.audience != Audience.GLOBAL and not tenant_id:
        raise InvalidInput(f"tenant: schedule {schedule.id!r} runs for each tenant: name one.")
    if schedule.audience == Audience.NAMED and tenant_id not in schedule.tenants:
        hint = did_you_mean(tenant_id, schedule.tenants)
        raise InvalidInput(f"tenant: schedule {schedule.id!r} does not run for {tenant_id!r}.{hint}")


def timetable_of(schedule: Schedule, tenant_id: str) -> Timetable:
    if schedule.trigger_type == TriggerType.MANUAL:
        raise InvalidInput(
            f"Schedule {schedule.id!r} has no timetable, so it has no slots: run it now instead."
        )
    try:
        timetable = definition.timetable_of(schedule, tenant_id)
    except TimetableError as error:
        raise InvalidInput(f"Schedule {schedule.id!r} is faulty: {error}") from None
    if timetable.follows_end:
        raise InvalidInput(
            f"The slots of schedule {schedule.id!r} follow the end of its last job: a range has none of them."
        )
    return timetable


def slots_of(timetable: Timetable, after: datetime, until: datetime) -> Iterator[datetime]:
    slot = timetable.next(after)
    while slot is not None and slot <= until:
        yield slot
        slot = timetable.next(slot)
