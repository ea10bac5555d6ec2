"""Which minutes of the wall clock a cron expression names. Pure; knows no zones.

Sets of small numbers are bits of one: bit n stands for minute, hour, day, month or weekday n (Sunday is 0).
"""

from __future__ import annotations

from dataclasses import dataclass, field
from datetime import date

_TO_1970 = date(1970, 1, 1).toordinal()
_MINUTES = 1440
_YEARS = 100  # further apart no two matching dates are: 29 February on one weekday returns within 40 years
_LAST_YEAR = 3000
_LENGTHS = (0, 31, 28, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31)


def lowest(bits: int) -> int:
    """The number of the lowest bit that is set."""
    return (bits & -bits).bit_length() - 1


def month_length(year: int, month: int) -> int:
    """In days."""
    leap = month == 2 and year % 4 == 0 and (year % 100 != 0 or year % 400 == 0)
    return _LENGTHS[month] + leap


@dataclass(frozen=True, slots=True)
class Pattern:
    """Five fields, read. ``nths``: (weekday, n) for the n-th of a month; ``last_weekdays``: the last of a month.

    ``both``: a day must match the day-of-month and the day-of-week; else one of them is enough. ``elapsed``: the
    minute or the hour begins with ``*``, so the rule follows elapsed time.
    """

    minutes: int
    hours: int
    days: int
    months: int
    weekdays: int
    last_day: bool
    nths: tuple[tuple[int, int], ...]
    last_weekdays: int
    both: bool
    elapsed: bool
    text: str
    _months: dict[int, int] = field(default_factory=dict, compare=False, repr=False)

    # -- days --------------------------------------------------------------------------------------------------

    def days_of(self, year: int, month: int) -> int:
        """The days of this month, as bits."""
        if not self.months >> month & 1:
            return 0
        length, first = month_length(year, month), date(year, month, 1).isoweekday() % 7
        found = self._months.get(length << 3 | first)
        if found is None:
            found = self._months[length << 3 | first] = self._days(length, first)
        return found

    def _days(self, length: int, first: int) -> int:
        by_date = self.days | (self.last_day << length)
        by_weekday = 0
        for day in range(1, length + 1):
            weekday = (first + day - 1) % 7
            named = (
                self.weekdays >> weekday & 1
                or (weekday, (day + 6) // 7) in self.nths
                or (self.last_weekdays >> weekday & 1 and day + 7 > length)
            )
            by_weekday |= bool(named) << day
        return (by_date & by_weekday if self.both else by_date | by_weekday) & ((2 << length) - 2)

    @property
    def possible(self) -> bool:
        """Whether there is a date that matches, in any year."""
        lengths = {month: {_LENGTHS[month], 29 if month == 2 else 0} - {0} for month in range(1, 13)}
        return any(
            self.months >> month & 1 and self._days(length, first)
            for month in range(1, 13)
            for length in lengths[month]
            for first in range(7)
        )

    def _day_from(self, day: int) -> int | None:
        """The first matching day at or after this one, in days since 1970."""
        at = date.fromordinal(day + _TO_1970)
        year, month = at.year, at.month
        if bits := self.days_of(year, month) >> at.day:
            return day + lowest(bits)
        for _ in range(_YEARS * 12):
            month += 1
            if month > 12:
                year, month = year + 1, 1
                if year > _LAST_YEAR:
                    return None
            if self.months >> month & 1 and (bits := self.days_of(year, month)):
                return date(year, month, lowest(bits)).toordinal() - _TO_1970
        return None

    def _day_upto(self, day: int) -> int | None:
        """The last matching day at or before this one, in days since 1970."""
        at = date.fromordinal(day + _TO_1970)
        year, month = at.year, at.month
        if bits := self.days_of(year, month) & ((2 << at.day) - 1):
            return day - at.day + bits.bit_length() - 1
        for _ in range(_YEARS * 12):
            month -= 1
            if month < 1:
                year, month = year - 1, 12
                if year < 1:
                    return None
            if self.months >> month & 1 and (bits := self.days_of(year, month)):
                return date(year, month, bits.bit_length() - 1).toordinal() - _TO_1970
        return None

    def _count_days(self, start: int, end: int) -> int:
        """How many days of [start, end) match."""
        if end <= start:
            return 0
        first, last = date.fromordinal(start + _TO_1970), date.fromordinal(end - 1 + _TO_1970)
        total, year, month = 0, first.year, first.month
        while (year, month) <= (last.year, last.month):
            bits = self.days_of(year, month)
            if (year, month) == (first.year, first.month):
                bits = bits >> first.day << first.day
            if (year, month) == (last.year, last.month):
                bits &= (2 << last.day) - 1
            total += bits.bit_count()
            year, month = (year, month + 1) if month < 12 else (year + 1, 1)
        return total

    def _day_matches(self, day: int) -> bool:
        at = date.fromordinal(day + _TO_1970)
        return bool(self.days_of(at.year, at.month) >> at.day & 1)

    # -- minutes of a day --------------------------------------------------------------------------------------

    def _minute_from(self, minute: int) -> int:
        """The first matching minute of a day at or after this one; -1 when there is none."""
        hour, rest = divmod(minute, 60)
        if self.hours >> hour & 1 and (bits := self.minutes >> rest):
            return minute + lowest(bits)
        if bits := self.hours >> hour + 1:
            return (hour + 1 + lowest(bits)) * 60 + lowest(self.minutes)
        return -1

    def _minute_upto(self, minute: int) -> int:
        """The last matching minute of a day at or before this one; -1 when there is none."""
        hour, rest = divmod(minute, 60)
        if self.hours >> hour & 1 and (bits := self.minutes & ((2 << rest) - 1)):
            return hour * 60 + bits.bit_length() - 1
        if bits := self.hours & ((1 << hour) - 1):
            return (bits.bit_length() - 1) * 60 + self.minutes.bit_length() - 1
        return -1

    def _minutes_before(self, minute: int) -> int:
        """How many minutes of a day before this one match."""
        hour, rest = divmod(minute, 60)
        whole = (self.hours & ((1 << hour) - 1)).bit_count() * self.minutes.bit_count()
        return whole + (self.hours >> hour & 1) * (self.minutes & ((1 << rest) - 1)).bit_count()

    # -- local times -------------------------------------------------------------------------------------------

    def next(self, local: int) -> int | None:
        """The first match after this local second."""
        day, minute = divmod(local // 60 + 1, _MINUTES)
        if self._day_matches(day) and (found := self._minute_from(minute)) >= 0:
            return (day * _MINUTES + found) * 60
        later = self._day_from(day + 1)
        return None if later is None else (later * _MINUTES + self._minute_from(0)) * 60

    def previous(self, local: int) -> int | None:
        """The last match before this local second."""
        day, minute = divmod((local - 1) // 60, _MINUTES)
        if self._day_matches(day) and (found := self._minute_upto(minute)) >= 0:
            return (day * _MINUTES + found) * 60
        earlier = self._day_upto(day - 1)
        return None if earlier is None else (earlier * _MINUTES + self._minute_upto(_MINUTES - 1)) * 60

    def matches(self, local: int) -> bool:
        """Whether it is one."""
        day, rest = divmod(local, _MINUTES * 60)
        hour, rest = divmod(rest, 3600)
        named = not rest % 60 and self.hours >> hour & 1 and self.minutes >> rest // 60 & 1
        return bool(named) and self._day_matches(day)

    def count(self, start: int, end: int) -> int:
        """How many local seconds of [start, end) match."""
        if end <= start:
            return 0
        first, from_minute = divmod(-(-start // 60), _MINUTES)
        last, to_minute = divmod(-(-end // 60), _MINUTES)
        total = self._count_days(first, last) * self.hours.bit_count() * self.minutes.bit_count()
        total += self._minutes_before(to_minute) if to_minute and self._day_matches(last) else 0
        return total - (self._minutes_before(from_minute) if from_minute and self._day_matches(first) else 0)
