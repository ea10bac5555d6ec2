"""Every so many seconds, or so many calendar months, from an anchor. Pure."""

from __future__ import annotations

from datetime import date, datetime, timedelta

from scheduler.timetables.base import Run
from scheduler.timetables.calendar import month_length
from scheduler.timetables.clock import clock
from scheduler.timetables.instants import DAY, EARLIEST, LATEST, ceiling, floor, instant

_TO_1970 = date(1970, 1, 1).toordinal()


class Interval:
    """``anchor + k * period`` for every whole k: elapsed time, which no clock change, restart or late run moves."""

    follows_end = False

    def __init__(self, period: int, anchor: int) -> None:
        self.period, self.anchor = period, anchor

    @property
    def anchored_at(self) -> datetime:
        """The anchor, as an instant."""
        return instant(self.anchor)

    @property
    def expression(self) -> str:
        """Such as ``every 1h30m``."""
        return f"every {short(self.period)}"

    def next(self, after: datetime) -> datetime | None:
        """The first slot strictly after ``after``."""
        at = max(floor(after), EARLIEST - 1)
        slot = at + self.period - (at - self.anchor) % self.period
        return instant(slot) if slot < LATEST else None

    def previous(self, before: datetime) -> datetime | None:
        """The last slot strictly before ``before``."""
        at = min(ceiling(before), LATEST) - 1
        slot = at - (at - self.anchor) % self.period
        return instant(slot) if slot >= EARLIEST else None

    def matches(self, at: datetime) -> bool:
        """Whether ``at`` is a slot."""
        second = floor(at)
        whole = second == ceiling(at) and EARLIEST <= second < LATEST
        return whole and (second - self.anchor) % self.period == 0

    def count(self, after: datetime, until: datetime) -> int:
        """How many slots lie in (after, until]."""
        first, last = max(floor(after), EARLIEST - 1), min(floor(until), LATEST - 1)
        slots = (last - self.anchor) // self.period - (first - self.anchor) // self.period
        return max(0, slots)

    def due(self, slot: datetime) -> datetime:
        """The slot itself."""
        return slot

    def excluded(self, after: datetime, until: datetime) -> list[Run]:
        """None."""
        return []


class AfterEnd:
    """A period after the end of the last job: ``next`` is given that end. There is one slot to come and no backlog,
    so ``previous`` is None, ``matches`` True for every whole second, and ``count`` at most 1."""

    follows_end = True

    def __init__(self, period: int) -> None:
        self.period = period

    @property
    def expression(self) -> str:
        """Such as ``1h30m after each end``."""
        return f"{short(self.period)} after each end"

    def next(self, after: datetime) -> datetime | None:
        """A period after this end, on the whole second at or after it."""
        slot = ceiling(after) + self.period
        return instant(slot) if slot < LATEST else None

    def previous(self, before: datetime) -> datetime | None:
        """None."""
        return None

    def matches(self, at: datetime) -> bool:
        """Whether it is a whole second."""
        return floor(at) == ceiling(at)

    def count(self, after: datetime, until: datetime) -> int:
        """1 when the slot after the end ``after`` has come by ``until``, else 0."""
        slot = self.next(after)
        return int(slot is not None and slot <= until)

    def due(self, slot: datetime) -> datetime:
        """The slot itself."""
        return slot

    def excluded(self, after: datetime, until: datetime) -> list[Run]:
        """None."""
        return []


class Months:
    """Every so many calendar months, on the anchor's day and local time. ``clamp``: a month without the day has its
    slot on its last day; else it has none. A time that the clocks skip is made up at their change, a repeated one
    counts in its first pass."""

    follows_end = False

    def __init__(self, months: int, anchor: int, zone: str, clamp: bool = True) -> None:
        self.months, self.anchor, self.clamp, self.clock = months, anchor, clamp, clock(zone)
        days, self._second = divmod(anchor + self.clock.offset(anchor), DAY)
        first = date.fromordinal(days + _TO_1970)
        self._month, self._day = first.year * 12 + first.month - 1, first.day

    @property
    def anchored_at(self) -> datetime:
        """The anchor, as an instant."""
        return instant(self.anchor)

    @property
    def expression(self) -> str:
        """Such as ``every 3 months``."""
        return "every month" if self.months == 1 else f"every {self.months} months"

    def next(self, after: datetime) -> datetime | None:
        """The first slot strictly after ``after``."""
        at = max(floor(after), EARLIEST - 1)
        if at >= LATEST:
            return None
        k = self._near(at) - 1
        while self._month_of(k) < _END:
            slot = self._slot(k)
            if slot is not None and slot > at:
                return instant(slot) if slot < LATEST else None
            k += 1
        return None

    def previous(self, before: datetime) -> datetime | None:
        """The last slot strictly before ``before``."""
        at = min(ceiling(before), LATEST)
        if at <= EARLIEST:
            return None
        k = self._near(at) + 1
        while self._month_of(k) >= _BEGIN:
            slot = self._slot(k)
            if slot is not None and slot < at:
                return instant(slot) if slot >= EARLIEST else None
            k -= 1
        return None

    def matches(self, at: datetime) -> bool:
        """Whether ``at`` is a slot."""
        return EARLIEST < floor(at) < LATEST and self.next(at - timedelta(microseconds=1)) == at

    def count(self, after: datetime, until: datetime) -> int:
        """How many slots lie in (after, until]; costs by calendar months when some have none."""
        first = self.next(after)
        last = self.previous(min(until, instant(LATEST)) + timedelta(microseconds=1))
        if first is None or last is None or first > last:
            return 0
        begin, end = self._near(floor(first)), self._near(floor(last))
        if self.clamp or self._day <= 28:
            return end - begin + 1
        return sum(self._slot_day(k) is not None for k in range(begin, end + 1))

    def due(self, slot: datetime) -> datetime:
        """The slot itself."""
        return slot

    def excluded(self, after: datetime, until: datetime) -> list[Run]:
        """None."""
        return []

    def _near(self, at: int) -> int:
        """The k whose month is that of ``at``, or the last before it."""
        day = date.fromordinal((at + self.clock.offset(at)) // DAY + _TO_1970)
        return (day.year * 12 + day.month - 1 - self._month) // self.months

    def _month_of(self, k: int) -> int:
        return self._month + k * self.months

    def _slot_day(self, k: int) -> date | None:
        year, month = divmod(self._month_of(k), 12)
        length = month_length(year, month + 1)
        if self._day > length and not self.clamp:
            return None
        return date(year, month + 1, min(self._day, length))

    def _slot(self, k: int) -> int | None:
        day = self._slot_day(k)
        if day is None:
            return None
        return self.clock.instant((day.toordinal() - _TO_1970) * DAY + self._second)


_BEGIN, _END = 1899 * 12, 3001 * 12


def short(seconds: int) -> str:
    """A length of time in few signs: ``1d``, ``1h30m``, ``90s`` is ``1m30s``."""
    parts, rest = [], seconds
    for unit, size in (("d", DAY), ("h", 3600), ("m", 60), ("s", 1)):
        number, rest = divmod(rest, size)
        parts += [f"{number}{unit}"] if number else []
    return "".join(parts) or "0s"
