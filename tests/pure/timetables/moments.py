"""Short words for instants and timetables in tests."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Any

from scheduler.timetables import Timetable, build


def at(text: str) -> datetime:
    """The instant; without an offset in UTC."""
    read = datetime.fromisoformat(text)
    return read if read.tzinfo else read.replace(tzinfo=UTC)


def cron(text: str, zone: str = "UTC", **config: Any) -> Timetable:
    return build("cron", {"cron": text, **config}, zone)


def interval(zone: str = "UTC", **config: Any) -> Timetable:
    return build("interval", config, zone)


def following(timetable: Timetable, after: datetime, number: int) -> list[datetime]:
    """So many slots after an instant, or all when there are fewer."""
    found: list[datetime] = []
    slot = timetable.next(after)
    while slot is not None and len(found) < number:
        found.append(slot)
        slot = timetable.next(slot)
    return found


def within(timetable: Timetable, after: datetime, until: datetime) -> list[datetime]:
    """The slots of (after, until], walked one by one."""
    found: list[datetime] = []
    slot = timetable.next(after)
    while slot is not None and slot <= until:
        found.append(slot)
        slot = timetable.next(slot)
    return found
