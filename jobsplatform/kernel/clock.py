"""The one clock. Rules take the time as an argument; only loops and doors ask this clock.

On PostgreSQL the database's clock is the truth: ``DatabaseClock`` measures the offset once a round and
adds monotonic time in between, so a machine whose own clock is wrong starts nothing early.
"""

from __future__ import annotations

import time
from contextlib import contextmanager
from datetime import UTC, datetime, timedelta
from typing import TYPE_CHECKING, Protocol

from django.db import connection

if TYPE_CHECKING:
    from collections.abc import Iterator

SHORT_TRIP_SECONDS = 0.1
READINGS = 3
"""After a reading that took long it is read again, up to so often in all."""


class Clock(Protocol):
    """What every clock promises: aware UTC instants, and seconds that never step back."""

    def now(self) -> datetime: ...

    def monotonic(self) -> float: ...

    def sync(self) -> None:
        """Compare with the source of truth; called once a loop round."""


class SystemClock:
    """This machine's clock."""

    def now(self) -> datetime:
        return datetime.now(UTC)

    def monotonic(self) -> float:
        return time.monotonic()

    def sync(self) -> None:
        return None


class DatabaseClock(SystemClock):
    """The database's clock, read once and carried on by monotonic time until the next ``sync``.

    A reading is off by half its round trip at most. One that took long, over a connection or in a process that stood
    still for a moment, would put the clock wrong by that much: it is read again, and if that is no better, the one
    before is carried on.
    """

    def __init__(self) -> None:
        self._base: tuple[datetime, float] | None = None
        self._trip = 0.0  # of the reading that is carried on, in seconds

    def now(self) -> datetime:
        if self._base is None:
            self.sync()
        assert self._base is not None
        instant, at = self._base
        return instant + timedelta(seconds=time.monotonic() - at)

    def sync(self) -> None:
        if connection.vendor != "postgresql":
            self._base = (datetime.now(UTC), time.monotonic())
            return
        base, trip = _read()
        for _ in range(READINGS - 1):
            if trip <= max(SHORT_TRIP_SECONDS, self._trip):
                break
            base, trip = min((base, trip), _read(), key=lambda reading: reading[1])
        if self._base is None or trip <= max(SHORT_TRIP_SECONDS, 2 * self._trip):
            self._base, self._trip = base, trip


def _read() -> tuple[tuple[datetime, float], float]:
    """The database's time, the monotonic second it belongs to, and how long the answer took."""
    before = time.monotonic()
    with connection.cursor() as cursor:
        cursor.execute("SELECT clock_timestamp()")
        instant = cursor.fetchone()[0]
    after = time.monotonic()
    return (instant.astimezone(UTC), (before + after) / 2), after - before


class FrozenClock:
    """A clock that a test turns by hand."""

    def __init__(self, start: datetime) -> None:
        self._now = start
        self._mono = 0.0

    def now(self) -> datetime:
        return self._now

    def monotonic(self) -> float:
        return self._mono

    def sync(self) -> None:
        return None

    def advance(self, seconds: float) -> datetime:
        """Turn the clock on by ``seconds`` and return the new instant."""
        self._now += timedelta(seconds=seconds)
        self._mono += seconds
        return self._now

    def set(self, instant: datetime) -> None:
        """Step the wall clock (monotonic time goes on)."""
        self._now = instant


_clock: Clock = DatabaseClock()


def current() -> Clock:
    """The clock in force."""
    return _clock


def now() -> datetime:
    """The instant by the clock in force: aware, UTC."""
    return _clock.now()


def monotonic() -> float:
    """Seconds that never step back, for measuring lengths."""
    return _clock.monotonic()


@contextmanager
def use(clock: Clock) -> Iterator[Clock]:
    """Put another clock in force for a while (tests, simulation)."""
    global _clock
    before, _clock = _clock, clock
    try:
        yield clock
    finally:
        _clock = before
