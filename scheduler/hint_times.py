"""When a scheduler that speaks only plain cron in UTC has to hint, so that no slot waits a minute for its hint. Pure.

What such cron cannot say (day-of-month or day-of-week, L, #, other zones, clock changes, phases of an interval) is left
out, and the hints are more than the slots: at the minutes and hours of the day at which a slot can lie, on every day.
At worst that is every minute.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from datetime import datetime
from math import gcd
from typing import Any

from scheduler import timetables
from scheduler.states import Gap, TriggerType
from scheduler.timetables.clock import clock
from scheduler.timetables.cron import Cron
from scheduler.timetables.instants import floor

DAY = 86_400
HOUR = 3_600
MINUTE = 60

YEARS_AHEAD = 20
"""How far ahead the offsets of a zone are looked at."""

UNBOUNDED = ("cron", "gap", "fold")


@dataclass(frozen=True, slots=True)
class HintTimes:
    """Minutes and hours of the day in UTC; every pair of them is hinted at."""

    minutes: frozenset[int]
    hours: frozenset[int]

    @property
    def minute_field(self) -> str:
        """As cron writes them."""
        return _field(self.minutes, 60)

    @property
    def hour_field(self) -> str:
        """As cron writes them; a single hour as a range: django-celery-beat leaves rows out for most of the day by a
        lone number in this field, which it compares with the server's hour by the offset of a day in January."""
        text = _field(self.hours, 24)
        return f"{text}-{text}" if text.isdigit() else text


ALWAYS = HintTimes(frozenset(range(60)), frozenset(range(24)))


def hint_times(
    trigger_type: str, config: Mapping[str, Any], timezone: str, now: datetime, schedule_id: str = ""
) -> HintTimes | None:
    """When to hint for a schedule; None when it needs none (manual). Raises TimetableError."""
    match TriggerType(trigger_type):
        case TriggerType.MANUAL:
            return None
        case TriggerType.DATE:
            return _at([floor(datetime.fromisoformat(config["at"]))])
        case TriggerType.CRON:
            return _cron(config, timezone, now, schedule_id)
        case TriggerType.INTERVAL:
            return _months(config, timezone, now) if "months" in config else _interval(config)


def _cron(config: Mapping[str, Any], timezone: str, now: datetime, schedule_id: str) -> HintTimes:
    rule = {name: config[name] for name in UNBOUNDED if name in config}
    timetable = timetables.build(TriggerType.CRON, rule, timezone, schedule_id=schedule_id)
    assert isinstance(timetable, Cron)
    minutes, hours = _bits(timetable.pattern.minutes), _bits(timetable.pattern.hours)
    local = [hour * HOUR + minute * MINUTE for hour in hours for minute in minutes]
    return _local(local, timezone, now, at_transitions=timetable.gap is Gap.AT_TRANSITION)


def _months(config: Mapping[str, Any], timezone: str, now: datetime) -> HintTimes:
    anchor = floor(datetime.fromisoformat(config["anchor"])) if config.get("anchor") else 0
    return _local([anchor + clock(timezone).offset(anchor)], timezone, now, at_transitions=True)


def _local(local: Iterable[int], timezone: str, now: datetime, *, at_transitions: bool) -> HintTimes:
    """Local times of the day, by every offset that the zone has from now on."""
    zone, start = clock(timezone), floor(now) - DAY
    changes = zone.changes(start, start + YEARS_AHEAD * 366 * DAY)
    offsets = (
        {zone.offset(start)}
        | {segment.offset for segment in changes}
        | {segment.before for segment in changes}
    )
    seconds = {at - offset for at in local for offset in offsets}
    if at_transitions:
        seconds |= {segment.start for segment in changes if segment.offset > segment.before}
    return _at(seconds)


def _interval(config: Mapping[str, Any]) -> HintTimes:
    period = int(config["every"])
    common = gcd(period, DAY)
    if config.get("from") == "last_end" or common <= MINUTE:
        return ALWAYS
    anchor = floor(datetime.fromisoformat(config["anchor"])) if config.get("anchor") else 0
    return _at(range(anchor % common, DAY, common))


def _at(seconds: Iterable[int]) -> HintTimes:
    """The first whole minute at or after each of these seconds."""
    whole = {-(-(second % DAY) // MINUTE) % (DAY // MINUTE) for second in seconds}
    return HintTimes(frozenset(at % 60 for at in whole), frozenset(at // 60 for at in whole))


def _bits(bits: int) -> list[int]:
    return [number for number in range(bits.bit_length()) if bits >> number & 1]


def _field(numbers: frozenset[int], size: int) -> str:
    return "*" if len(numbers) == size else ",".join(map(str, sorted(numbers)))
