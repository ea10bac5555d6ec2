"""A third reading of cron expressions: minute by minute, by the words of docs/timetables.md and nothing clever.

A thousand times slower than the others, it is asked where two of them disagree.
"""

from __future__ import annotations

from collections.abc import Iterator
from datetime import UTC, date, datetime, timedelta
from functools import cache
from zoneinfo import ZoneInfo

_NAMES = {
    name: number
    for names, first in (
        ("SUN MON TUE WED THU FRI SAT", 0),
        ("JAN FEB MAR APR MAY JUN JUL AUG SEP OCT NOV DEC", 1),
    )
    for number, name in enumerate(names.split(), first)
}
_MINUTE = timedelta(minutes=1)
_ENDS = (59, 23, 31, 12, 6)


def slots(expression: str, zone: ZoneInfo, start: datetime, end: datetime) -> Iterator[datetime]:
    """The slots of [start, end] by the rule that stands when nothing is chosen.

    No change of the clocks may lie shortly before ``start``: what the clock showed before is not known.
    """
    words = expression.upper().split()
    elapsed = words[0].startswith("*") or words[1].startswith("*")
    at = start.astimezone(UTC).replace(second=0, microsecond=0)
    furthest = at.astimezone(zone).replace(tzinfo=None) - _MINUTE
    while at <= end:
        local = at.astimezone(zone).replace(tzinfo=None)
        if elapsed:
            due = matches(words, local)
        else:
            # Fixed times run once: those that the clock skipped together with the first after them, and none again.
            due = False
            while furthest < local:
                furthest += _MINUTE
                due = due or matches(words, furthest)
        if due and at >= start:
            yield at
        at += _MINUTE


def matches(words: list[str], local: datetime) -> bool:
    """Whether the wall clock shows a time of the expression."""
    minute, hour, month = (
        _named(words[place], value, place)
        for place, value in ((0, local.minute), (1, local.hour), (3, local.month))
    )
    if not (minute and hour and month):
        return False
    by_date = any(_is_date(item, local.date()) for item in words[2].split(","))
    by_weekday = any(_is_weekday(item, local.date()) for item in words[4].split(","))
    if words[2].startswith("*") or words[4].startswith("*"):
        return by_date and by_weekday
    return by_date or by_weekday


def _is_date(item: str, day: date) -> bool:
    if item == "L":
        return (day + timedelta(days=1)).day == 1
    return _named(item, day.day, 2)


def _is_weekday(item: str, day: date) -> bool:
    name = day.isoweekday()  # Sunday is 7 here, and 0 as well
    if item.endswith("L"):
        return _value(item[:-1]) % 7 == name % 7 and (day + timedelta(days=7)).month != day.month
    weekday, _, nth = item.partition("#")
    if nth:
        return _value(weekday) % 7 == name % 7 and (day.day + 6) // 7 == int(nth)
    return any(_named(item, value, 4) for value in {name, name % 7})


@cache
def _named(text: str, value: int, place: int) -> bool:
    """Whether one of the items of a field names this value."""
    for item in text.split(","):
        span, _, step = item.partition("/")
        low, _, high = span.partition("-")
        if span == "*":
            first, last = (1 if place in (2, 3) else 0), _ENDS[place]
        else:
            first = _value(low)
            last = _value(high) if high else _ENDS[place] if step else first
        if first <= value <= last and (value - first) % int(step or 1) == 0:
            return True
    return False


def _value(text: str) -> int:
    return _NAMES[text] if text in _NAMES else int(text)
