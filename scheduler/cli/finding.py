"""The schedule that a person named, and the zone in which its times are read."""

from __future__ import annotations

import argparse
from zoneinfo import ZoneInfo

from jobsplatform.kernel.errors import InvalidInput, UnknownName
from scheduler import queries
from scheduler.errors import ScheduleArchived
from scheduler.models import Schedule, ScheduleState
from scheduler.states import Audience
from scheduler.timetables.errors import TimetableError
from scheduler.timetables.zones import zone

find = queries.find


def live(schedule_id: str) -> Schedule:
    """The schedule with this id. Raises ScheduleNotFound, ScheduleArchived."""
    found = find(schedule_id)
    if found.archived_at is not None:
        raise ScheduleArchived(f"The schedule {schedule_id!r} is archived: nothing of it runs.")
    return found


def zone_of(schedule: Schedule) -> ZoneInfo:
    """The zone of a schedule; UTC when its own is not known any more, so that a faulty one can still be looked at."""
    try:
        return zone(schedule.timezone)
    except TimetableError:
        return zone("UTC")


def tenant_of(schedule: Schedule, tenant_id: str | None) -> str:
    """The tenant that is meant; empty for a schedule of the host. Raises UnknownName."""
    if not tenant_id:
        return ""
    if schedule.audience == Audience.GLOBAL:
        raise InvalidInput(f"The schedule {schedule.id!r} runs once for the whole host: leave --tenant out.")
    known = ScheduleState.objects.filter(schedule_id=schedule.id)
    if known.filter(tenant_id=tenant_id).exists():
        return tenant_id
    raise UnknownName("tenant", tenant_id, known.values_list("tenant_id", flat=True)[:1000])


def add_schedule(parser: argparse.ArgumentParser, *, many: bool = False) -> None:
    """The schedule's id."""
    if many:
        parser.add_argument("ids", nargs="*", metavar="ID", help="the schedules' ids")
    else:
        parser.add_argument("id", metavar="ID", help="the schedule's id")


def add_tenant(parser: argparse.ArgumentParser) -> None:
    """``--tenant``."""
    parser.add_argument("--tenant", metavar="ID", help="for this tenant, of a schedule that has several")
