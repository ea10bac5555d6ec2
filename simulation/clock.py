"""A clock that stands still until the history goes on, and that is wrong by as much as its reader's."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from datetime import UTC, datetime, timedelta

BEGIN = datetime(2026, 3, 1, 23, 55, 0, 250_000, tzinfo=UTC)
"""Shortly before a midnight, so that a history meets an excluded date."""


class VirtualClock:
    """``seconds`` since BEGIN are the true time; within ``read_by`` the wall clock shows what one machine shows."""

    def __init__(self) -> None:
        self.seconds = 0.0
        self._skew = 0.0

    @property
    def true(self) -> datetime:
        return BEGIN + timedelta(seconds=self.seconds)

    def now(self) -> datetime:
        return self.true + timedelta(seconds=self._skew)

    def monotonic(self) -> float:
        return self.seconds

    def sync(self) -> None:
        return None

    @contextmanager
    def read_by(self, skew: float) -> Iterator[None]:
        """Whoever reads the clock in here is wrong by ``skew`` seconds."""
        before, self._skew = self._skew, skew
        try:
            yield
        finally:
            self._skew = before
