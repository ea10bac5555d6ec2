"""Whole seconds since 1970 in UTC, and back. Pure."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
DAY = 86_400
_SECOND = timedelta(seconds=1)

EARLIEST = -2_208_988_800  # 1900-01-01
LATEST = 32_503_680_000  # 3000-01-01
"""No slot lies outside of [EARLIEST, LATEST): a calendar needs an end, so that every search has one."""


def floor(at: datetime) -> int:
    """The last whole second at or before ``at``. Raises TypeError for an instant without a zone."""
    passed = at - EPOCH
    return passed.days * DAY + passed.seconds


def ceiling(at: datetime) -> int:
    """The first whole second at or after ``at``. Raises TypeError for an instant without a zone."""
    passed = at - EPOCH
    return passed.days * DAY + passed.seconds + (passed.microseconds > 0)


def instant(seconds: int) -> datetime:
    """The instant, in UTC."""
    return datetime.fromtimestamp(seconds, UTC)
