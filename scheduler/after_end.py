"""Intervals that count from the end of the last job: one slot at a time, and never a backlog."""

from __future__ import annotations

from dataclasses import replace
from datetime import datetime, timedelta
from typing import Any

from scheduler import timetables
from scheduler.models import Schedule
from scheduler.policies import Policies
from scheduler.states import Misfire, TriggerType
from scheduler.timetables.base import Timetable
from tasks import queries

SECOND = timedelta(seconds=1)
MINUTE = timedelta(minutes=1)


def concerns(schedule: Schedule) -> bool:
    """Whether the slots of ``schedule`` count from the end of its last job."""
    config: Any = schedule.trigger_config
    return (
        schedule.trigger_type == TriggerType.INTERVAL
        and isinstance(config, dict)
        and config.get("from") == "last_end"
    )


def base(schedule_id: str, tenant_id: str, since: datetime) -> datetime | None:
    """From when the next period counts: the end of the last job, or ``since`` when that is later or there is none;
    None while a job is unfinished."""
    last = queries.last_of_schedule(schedule_id, tenant_id)
    if last is None:
        return _whole(since)
    if last.finished_at is None:
        return None
    return _whole(max(last.finished_at, since))


def timetable(schedule: Schedule, tenant_id: str, since: datetime) -> Timetable:
    """Its slots as long as no further job ends: a period after ``since``, and so on."""
    config = {**schedule.trigger_config, "from": "slot", "anchor": since.isoformat()}
    return timetables.build(
        schedule.trigger_type, config, schedule.timezone, schedule_id=schedule.pk, tenant_id=tenant_id
    )


def policies(given: Policies) -> Policies:
    """Slots that were missed are no backlog: a catch-up is one run."""
    if given.misfire is not Misfire.CATCH_UP_LIMITED:
        return given
    return replace(given, misfire=Misfire.RUN_ONCE)


def look_again(rule: Timetable, now: datetime) -> datetime:
    """When to see whether the job has ended: before the slot that would follow, if it ended now."""
    following = rule.next(now)
    wait = MINUTE if following is None else following - now
    return now + min(max(wait, SECOND), MINUTE)


def _whole(instant: datetime) -> datetime:
    """Slots lie on whole seconds."""
    whole = instant.replace(microsecond=0)
    return whole if whole == instant else whole + SECOND
