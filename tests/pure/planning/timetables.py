"""Small timetables, right by being simple: a list of slots, and one period."""

from bisect import bisect_left, bisect_right
from collections.abc import Iterable
from datetime import UTC, datetime, timedelta
from itertools import groupby

from scheduler.timetables.base import Run

SECOND = timedelta(seconds=1)


class Listed:
    """These slots; ``taken_out`` are those of an exclusion date."""

    expression = "listed"

    def __init__(self, slots: Iterable[datetime], taken_out: Iterable[datetime] = ()) -> None:
        self.out = sorted(set(taken_out))
        self.slots = sorted(set(slots) - set(self.out))

    def next(self, after: datetime) -> datetime | None:
        place = bisect_right(self.slots, after)
        return self.slots[place] if place < len(self.slots) else None

    def previous(self, before: datetime) -> datetime | None:
        place = bisect_left(self.slots, before)
        return self.slots[place - 1] if place else None

    def matches(self, at: datetime) -> bool:
        return at in self.slots

    def count(self, after: datetime, until: datetime) -> int:
        return bisect_right(self.slots, until) - bisect_right(self.slots, after)

    def due(self, slot: datetime) -> datetime:
        return slot

    def excluded(self, after: datetime, until: datetime) -> list[Run]:
        """A run for each stretch without a slot that is left."""
        inside = [slot for slot in self.out if after < slot <= until]
        stretches = [list(group) for _, group in groupby(inside, lambda slot: bisect_left(self.slots, slot))]
        return [Run(stretch[0], stretch[-1], len(stretch)) for stretch in stretches]


class Every:
    """``anchor + k * period``, for ever, and how often it was asked."""

    expression = "every"

    def __init__(self, period: timedelta, anchor: datetime = datetime(2020, 1, 1, tzinfo=UTC)) -> None:
        self.period = period
        self.anchor = anchor
        self.asked = 0

    def next(self, after: datetime) -> datetime | None:
        self.asked += 1
        return self.anchor + max(0, (after - self.anchor) // self.period + 1) * self.period

    def previous(self, before: datetime) -> datetime | None:
        self.asked += 1
        k = -((self.anchor - before) // self.period) - 1
        return self.anchor + k * self.period if k >= 0 else None

    def matches(self, at: datetime) -> bool:
        self.asked += 1
        return at >= self.anchor and not (at - self.anchor) % self.period

    def count(self, after: datetime, until: datetime) -> int:
        self.asked += 1
        first = max(0, (after - self.anchor) // self.period + 1)
        return max(0, (until - self.anchor) // self.period - first + 1)

    def due(self, slot: datetime) -> datetime:
        return slot

    def excluded(self, after: datetime, until: datetime) -> list[Run]:
        self.asked += 1
        return []
