"""Instants and dates as a configuration writes them. Pure."""

from __future__ import annotations

import re
from collections.abc import Iterable
from datetime import UTC, date, datetime

from scheduler.timetables.clock import clock
from scheduler.timetables.errors import TimetableError
from scheduler.timetables.instants import EARLIEST, LATEST, floor, instant

MOST_DATES = 1000
_DATE = re.compile(r"(?:\d{4}-)?\d{2}-\d{2}", re.ASCII)
_TO_1970 = date(1970, 1, 1).toordinal()


def moment(value: object, zone: str, name: str) -> datetime:
    """The instant, in UTC on its whole second; one without an offset is a time of ``zone``.

    A local time that the clocks skip is the instant of their change, a repeated one the first. Raises
    TimetableError: ``TIME_SYNTAX``, ``TIME_RANGE``.
    """
    text = value.isoformat() if isinstance(value, datetime) else value
    if not isinstance(text, str) or not 0 < len(text) <= 64 or not text.isascii():
        raise _syntax(name, value)
    try:
        read = datetime.fromisoformat(text.strip())
    except ValueError:
        raise _syntax(name, value) from None
    if not 1899 < read.year < 3000:
        second = LATEST
    elif read.tzinfo is not None:
        second = floor(read.astimezone(UTC))
    else:
        second = clock(zone).instant(floor(read.replace(tzinfo=UTC)))
    if not EARLIEST <= second < LATEST:
        raise TimetableError(
            "TIME_RANGE", name, str(value)[:40], f"{text} is not between the years 1900 and 2999.", ""
        )
    return instant(second)


def stored(at: datetime) -> str:
    """The instant as a configuration keeps it: ISO 8601 in UTC, with a Z."""
    return at.astimezone(UTC).isoformat().replace("+00:00", "Z")


def _syntax(name: str, value: object) -> TimetableError:
    shown = str(value)[:40]
    return TimetableError(
        "TIME_SYNTAX", name, shown, f"{shown!r} is no instant.",
        "Write e.g. 2026-07-01T10:00:00+02:00; without an offset it is a time of the schedule's zone.",
    )  # fmt: skip


def dates(values: object) -> list[str]:
    """The excluded dates in order: ``YYYY-MM-DD``, or ``MM-DD`` for every year. Raises TimetableError:
    ``EXCLUDE_SYNTAX``, ``EXCLUDE_MANY``."""
    if isinstance(values, str | bytes) or not isinstance(values, Iterable):
        raise _no_date(values)
    found: set[str] = set()
    for value in values:
        text = value.isoformat()[:10] if isinstance(value, date) else value
        if not isinstance(text, str) or not _DATE.fullmatch(text):
            raise _no_date(value)
        try:
            # A year that has a 29 February, for dates of every year.
            date.fromisoformat(text if len(text) == 10 else f"2000-{text}")
        except ValueError:
            raise _no_date(value) from None
        found.add(text)
    if len(found) > MOST_DATES:
        raise TimetableError(
            "EXCLUDE_MANY", "exclude", str(len(found)), f"{len(found)} dates; at most {MOST_DATES} are kept.",
            "Use MM-DD for those of every year, and drop the past ones.",
        )  # fmt: skip
    return sorted(found)


def _no_date(value: object) -> TimetableError:
    shown = str(value)[:40]
    return TimetableError(
        "EXCLUDE_SYNTAX", "exclude", shown, f"{shown!r} is no date.",
        "Write a list of YYYY-MM-DD, or MM-DD for every year.",
    )  # fmt: skip


def day_number(text: str) -> int:
    """Days since 1970 of ``YYYY-MM-DD``."""
    return date.fromisoformat(text).toordinal() - _TO_1970
