"""A timetable in English. Pure."""

from __future__ import annotations

from collections.abc import Sequence

from scheduler.timetables.base import Timetable
from scheduler.timetables.bounds import Bounded
from scheduler.timetables.calendar import Pattern
from scheduler.timetables.cron import Cron
from scheduler.timetables.instants import EARLIEST, LATEST, floor
from scheduler.timetables.interval import AfterEnd, Interval, Months, short
from scheduler.timetables.moments import stored
from scheduler.timetables.once import Manual, Once

_WEEKDAYS = ("Sunday", "Monday", "Tuesday", "Wednesday", "Thursday", "Friday", "Saturday")
_MONTHS = (
    "", "January", "February", "March", "April", "May", "June", "July", "August", "September", "October",
    "November", "December",
)  # fmt: skip
_NTHS = ("", "first", "second", "third", "fourth", "fifth")
_MOST_TIMES = 6  # more are told by hours and minutes


def describe(timetable: Timetable) -> str:
    """One sentence without a full stop, such as ``At 02:30 every day (Europe/Berlin)``."""
    said = _said(timetable)
    return said[0].upper() + said[1:]


def _said(timetable: Timetable) -> str:
    match timetable:
        case Bounded():
            return _said(timetable.inner) + _bounds(timetable)
        case Cron():
            return f"{pattern(timetable.pattern)} ({timetable.clock.zone.key})"
        case Interval():
            return f"every {short(timetable.period)}, counted from {stored(timetable.anchored_at)}"
        case AfterEnd():
            return f"{short(timetable.period)} after each end"
        case Months():
            return f"{timetable.expression}, counted from {stored(timetable.anchored_at)} ({timetable.clock.zone.key})"
        case Once():
            return f"once, at {stored(timetable.at)}"
        case Manual():
            return "only when somebody runs it"
    return timetable.expression


def _bounds(timetable: Bounded) -> str:
    parts = []
    if floor(timetable.start) != EARLIEST:
        parts.append(f"from {stored(timetable.start)}")
    if floor(timetable.end) != LATEST - 1:
        parts.append(f"until {stored(timetable.end)}")
    if dates := len(timetable.exclusions.dates) + len(timetable.exclusions.yearly):
        parts.append(f"except on {dates} {'date' if dates == 1 else 'dates'}")
    if timetable.jitter:
        parts.append(f"up to {short(timetable.jitter)} later")
    return "".join(f", {part}" for part in parts)


def pattern(of: Pattern) -> str:
    """A cron expression in words, without its zone."""
    return " ".join(part for part in (_time(of), _day(of), _month(of)) if part)


# -- parts of a pattern ----------------------------------------------------------------------------------------


def _time(of: Pattern) -> str:
    minutes, hours = _numbers(of.minutes), _numbers(of.hours)
    every_hour = len(hours) == 24
    if len(minutes) * len(hours) <= _MOST_TIMES:
        return "at " + _and([f"{hour:02}:{minute:02}" for hour in hours for minute in minutes])
    if len(minutes) == 60:
        said = "every minute"
    elif (
        (step := 60 // len(minutes)) * len(minutes) == 60
        and minutes == list(range(0, 60, step))
        and step < 60
    ):
        said = f"every {step} minutes"
    else:
        said = f"at {'minute' if len(minutes) == 1 else 'minutes'} {_spans(minutes)}"
    if every_hour:
        return said if said.startswith("every") else f"{said} of every hour"
    return f"{said} of {'hour' if len(hours) == 1 else 'hours'} {_spans(hours)}"


def _day(of: Pattern) -> str:
    by_date, by_weekday = _by_date(of), _by_weekday(of)
    if not of.both and not (by_date and by_weekday):
        by_date = by_weekday = ""  # either is enough, and one of them is every day
    if by_date and by_weekday:
        return f"{by_date} when it is {by_weekday}" if of.both else f"{by_date} or on {by_weekday}"
    if by_weekday:
        return f"on {by_weekday}"
    if by_date:
        return by_date
    return "every day" if of.hours.bit_count() * of.minutes.bit_count() <= _MOST_TIMES else ""


def _by_date(of: Pattern) -> str:
    days = _numbers(of.days)
    if len(days) == 31:
        return ""
    named = [f"{'day' if len(days) == 1 else 'days'} {_spans(days)}"] if days else []
    return "on " + _and([*named, *(["the last day"] if of.last_day else [])]) + " of the month"


def _by_weekday(of: Pattern) -> str:
    if of.weekdays == 0b1111111:
        return ""
    # The week begins on Monday when its days are told, so that Friday to Sunday is one run.
    days = sorted((day - 1) % 7 for day in _numbers(of.weekdays))
    named = [_WEEKDAYS[(first + 1) % 7] if first == last else f"{_WEEKDAYS[first + 1]} to {_WEEKDAYS[(last + 1) % 7]}"
             for first, last in _runs(days)]  # fmt: skip
    named += [f"the {_NTHS[nth]} {_WEEKDAYS[day]} of the month" for day, nth in of.nths]
    named += [f"the last {_WEEKDAYS[day]} of the month" for day in _numbers(of.last_weekdays)]
    return _and(named)


def _month(of: Pattern) -> str:
    months = _numbers(of.months)
    if len(months) == 12:
        return ""
    return "in " + _and(
        [
            _MONTHS[first] if first == last else f"{_MONTHS[first]} to {_MONTHS[last]}"
            for first, last in _runs(months)
        ]
    )


# -- lists -----------------------------------------------------------------------------------------------------


def _numbers(bits: int) -> list[int]:
    return [number for number in range(bits.bit_length()) if bits >> number & 1]


def _runs(numbers: Sequence[int]) -> list[tuple[int, int]]:
    """Runs of three and more, others one by one."""
    found: list[list[int]] = []
    for number in numbers:
        if found and found[-1][-1] == number - 1:
            found[-1].append(number)
        else:
            found.append([number])
    return [
        pair
        for run in found
        for pair in ([(run[0], run[-1])] if len(run) > 2 else [(one, one) for one in run])
    ]


def _spans(numbers: Sequence[int]) -> str:
    return _and([str(first) if first == last else f"{first} to {last}" for first, last in _runs(numbers)])


def _and(words: Sequence[str]) -> str:
    return words[0] if len(words) == 1 else f"{', '.join(words[:-1])} and {words[-1]}"
