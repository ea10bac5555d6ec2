"""A timetable within a start and an end, without some dates, and with jitter. Pure."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from datetime import date, datetime, timedelta
from hashlib import blake2b

from scheduler.timetables.base import Run, Timetable
from scheduler.timetables.clock import Clock
from scheduler.timetables.instants import DAY, EARLIEST, LATEST, floor, instant

_SECOND = timedelta(seconds=1)
_TO_1970 = date(1970, 1, 1).toordinal()
_LEAPS = 400  # excluded slots that a search passes over, beside the dates that are named


@dataclass(frozen=True, slots=True)
class Exclusions:
    """``dates``: local days since 1970; ``yearly``: (month, day) of every year."""

    dates: frozenset[int] = frozenset()
    yearly: frozenset[tuple[int, int]] = frozenset()

    def __contains__(self, day: int) -> bool:
        if day in self.dates:
            return True
        if not self.yearly:
            return False
        at = date.fromordinal(day + _TO_1970)
        return (at.month, at.day) in self.yearly

    def __bool__(self) -> bool:
        return bool(self.dates or self.yearly)

    def runs(self, first: int, last: int) -> Iterator[tuple[int, int]]:
        """The excluded days of [first, last], as runs ``[begin, end)`` in order."""
        begin = end = first - 1
        for day in self.days(first, last):
            if day > end:
                if begin < end:
                    yield begin, end
                begin = day
            end = day + 1
        if begin < end:
            yield begin, end

    def days(self, first: int, last: int) -> Iterator[int]:
        """The excluded days of [first, last], in order."""
        for year in range(_year(first), _year(last) + 1):
            start, end = max(first, _day(year, 1, 1)), min(last, _day(year, 12, 31))
            days = {day for day in self.dates if start <= day <= end}
            for month, number in self.yearly:
                if (month, number) != (2, 29) or _day(year, 3, 1) - _day(year, 2, 28) == 2:
                    days |= {day for day in (_day(year, month, number),) if start <= day <= end}
            yield from sorted(days)


class Bounded:
    """The slots of ``inner`` from ``start`` to ``end``, both included, whose local date is not excluded.

    A job is due up to ``jitter`` seconds after its slot, always before the next one; by how much is hashed of
    ``seed`` and the slot, so it is the same in every process.
    """

    def __init__(
        self, inner: Timetable, clock: Clock, *, start: int | None = None, end: int | None = None,
        exclusions: Exclusions | None = None, jitter: int = 0, seed: str = "",
    ) -> None:  # fmt: skip
        self.inner, self.clock = inner, clock
        self.start = instant(EARLIEST if start is None else start)
        self.end = instant(LATEST - 1 if end is None else end)
        self.exclusions = exclusions or Exclusions()
        self.jitter, self.seed = jitter, seed

    @property
    def follows_end(self) -> bool:
        """As the inner one."""
        return self.inner.follows_end

    @property
    def expression(self) -> str:
        """As the inner one."""
        return self.inner.expression

    def next(self, after: datetime) -> datetime | None:
        """The first slot strictly after ``after``; None when there is none, or none but excluded ones for long."""
        after = max(after, self.start - _SECOND)
        for _ in range(len(self.exclusions.dates) + _LEAPS):
            slot = self.inner.next(after)
            if slot is None or slot > self.end:
                return None
            day = self._day(slot)
            if day not in self.exclusions:
                return slot
            segment = self.clock.segment(floor(slot))
            after = instant(min(segment.end, (self._open(day, 1)) * DAY - segment.offset) - 1)
        return None

    def previous(self, before: datetime) -> datetime | None:
        """The last slot strictly before ``before``; None when there is none."""
        before = min(before, self.end + _SECOND)
        for _ in range(len(self.exclusions.dates) + _LEAPS):
            slot = self.inner.previous(before)
            if slot is None or slot < self.start:
                return None
            day = self._day(slot)
            if day not in self.exclusions:
                return slot
            segment = self.clock.segment(floor(slot))
            before = instant(max(segment.start, (self._open(day, -1) + 1) * DAY - segment.offset))
        return None

    def matches(self, at: datetime) -> bool:
        """Whether ``at`` is a slot."""
        within = self.start <= at <= self.end and self.inner.matches(at)
        return within and self._day(at) not in self.exclusions

    def count(self, after: datetime, until: datetime) -> int:
        """How many slots lie in (after, until]."""
        after, until = max(after, self.start - _SECOND), min(until, self.end)
        if until <= after:
            return 0
        if self.follows_end:
            slot = self.next(after)
            return int(slot is not None and slot <= until)
        total = self.inner.count(after, until)
        if self.exclusions:
            low, high = floor(after) + 1, floor(until) + 1
            for first, last in self.exclusions.runs(low // DAY - 2, high // DAY + 2):
                total -= sum(self.inner.count(*out) for out in self._stretches(first, last, low, high))
        return total

    def due(self, slot: datetime) -> datetime:
        """The slot, later by its jitter."""
        if not self.jitter:
            return slot
        room, following = self.jitter, self.next(slot)
        if following is not None:
            room = min(room, int((following - slot).total_seconds()) - 1)
        digest = blake2b(f"{self.seed}\0{slot.isoformat()}".encode(), digest_size=8).digest()
        return slot + timedelta(seconds=int.from_bytes(digest) % (room + 1))

    def excluded(self, after: datetime, until: datetime) -> list[Run]:
        """The slots of the rule in (after, until] that exclusion dates take out, oldest first: a run for each date."""
        if not self.exclusions or self.follows_end:
            return []
        after, until = max(after, self.start - _SECOND), min(until, self.end)
        low, high = floor(after) + 1, floor(until) + 1
        if high <= low:
            return []
        found = []
        for day in self.exclusions.days(low // DAY - 2, high // DAY + 2):
            for begin, end in self._stretches(day, day + 1, low, high):
                if number := self.inner.count(begin, end):
                    first, last = self.inner.next(begin), self.inner.previous(end + _SECOND)
                    assert first is not None and last is not None
                    found.append(Run(first, last, number))
        return sorted(found)

    def _day(self, at: datetime) -> int:
        second = floor(at)
        return (second + self.clock.offset(second)) // DAY

    def _open(self, day: int, step: int) -> int:
        """The nearest day in this direction that is not excluded."""
        limit = day + step * (len(self.exclusions.dates) + 3 * 366)
        while day in self.exclusions and day != limit:
            day += step
        return day

    def _stretches(self, first: int, last: int, low: int, high: int) -> Iterator[tuple[datetime, datetime]]:
        """The stretches of [low, high) on the local days [first, last), as (after, until]."""
        for start, end in self.clock.spans(first * DAY, last * DAY):
            start, end = max(start, low), min(end, high)
            if start < end:
                yield instant(start - 1), instant(end - 1)


def _year(day: int) -> int:
    return date.fromordinal(day + _TO_1970).year


def _day(year: int, month: int, number: int) -> int:
    return date(year, month, number).toordinal() - _TO_1970
