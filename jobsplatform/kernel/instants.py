"""Instants as text, in one form everywhere: in keys, reasons and answers for programs; and those that are none."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta, tzinfo
from typing import Any

EARLIEST = datetime(2, 1, 1, tzinfo=UTC)
LATEST = datetime(9998, 12, 31, 23, 59, 59, 999999, tzinfo=UTC)
"""Between these an instant can be read in every time zone."""

WORD = "unreadable"


class Unreadable(datetime):
    """What stands where a row holds no instant (an infinity, a year beyond 9998, any text): it can be shown, by its
    word, and compared: it lies before all others."""

    def isoformat(self, *_: Any, **__: Any) -> str:
        return WORD

    def strftime(self, *_: Any, **__: Any) -> str:
        return WORD

    def __str__(self) -> str:
        return WORD

    def __format__(self, _: str) -> str:
        return WORD

    def astimezone(self, tz: tzinfo | None = None) -> Unreadable:
        """Itself: it is nothing in any zone."""
        return self

    def tzname(self) -> str:
        return ""


NOWHEN = EARLIEST + timedelta(microseconds=1)
"""How an unreadable instant is written in a statement."""
UNREADABLE = Unreadable(*NOWHEN.timetuple()[:6], NOWHEN.microsecond, UTC)


def unreadable(instant: datetime | None) -> bool:
    """Whether it stands for what is no instant."""
    return type(instant) is Unreadable


def text(instant: datetime) -> str:
    """ISO 8601 in UTC, with a Z; microseconds only where there are some. Two equal instants have the same text."""
    return instant.astimezone(UTC).isoformat().replace("+00:00", "Z")
