"""What a change of a timetable, or of the clocks, does to its slots. Pure."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from datetime import date, datetime
from itertools import islice

from scheduler.states import Fold, Gap
from scheduler.timetables.base import Timetable
from scheduler.timetables.bounds import Bounded
from scheduler.timetables.clock import Segment, clock
from scheduler.timetables.cron import Cron
from scheduler.timetables.instants import DAY, floor, instant

_TO_1970 = date(1970, 1, 1).toordinal()


@dataclass(frozen=True, slots=True)
class ClockChange:
    """A change of the clocks that a timetable's times fall into. ``at``: the instant; ``day``: its local date;
    ``kind``: ``gap`` or ``fold``; ``times``: the local times that are skipped or repeated, ``HH:MM``, at most 5;
    ``slots``: what runs in place of them, instants, at most 5; ``rule``: why, in English."""

    at: datetime
    day: date
    kind: str
    times: tuple[str, ...]
    slots: tuple[datetime, ...]
    rule: str


_SHOWN = 5
_RULES = {
    Gap.SKIP: "times that the clocks skip are not made up",
    Gap.AT_TRANSITION: "times that the clocks skip run once, right after the change",
    Gap.SHIFT: "times that the clocks skip run later by as much as the clocks are set forward",
    Fold.FIRST: "times that come twice run in the first pass",
    Fold.LAST: "times that come twice run in the second pass",
    Fold.BOTH: "times that come twice run in both passes",
}


def clock_changes(timetable: Timetable, zone: str, now: datetime, years: int = 3) -> list[ClockChange]:
    """The coming changes of the zone's clocks that skip or repeat a time of this timetable, in order. Only cron
    timetables follow the wall clock by the minute; others give none. Raises TimetableError for an unknown zone."""
    inner = timetable.inner if isinstance(timetable, Bounded) else timetable
    if not isinstance(inner, Cron):
        return []
    found = []
    start = floor(now)
    for segment in clock(zone).changes(start, start + years * 366 * DAY):
        low, high = sorted((segment.start + segment.before, segment.start + segment.offset))
        times = tuple(
            f"{local // 3600 % 24:02}:{local // 60 % 60:02}"
            for local in islice(_times(inner, low, high), _SHOWN)
        )
        if times:
            found.append(_change(timetable, inner, segment, times))
    return found


def _times(cron: Cron, low: int, high: int) -> Iterator[int]:
    at = cron.pattern.next(low - 1)
    while at is not None and at < high:
        yield at
        at = cron.pattern.next(at)


def _change(timetable: Timetable, cron: Cron, segment: Segment, times: tuple[str, ...]) -> ClockChange:
    size = abs(segment.offset - segment.before)
    gap = segment.offset > segment.before
    begin, end = (
        (segment.start, segment.start + size) if gap else (segment.start - size, segment.start + size)
    )
    slots = tuple(islice(slots_of(timetable, instant(begin - 1), instant(end - 1)), _SHOWN))
    if gap and cron.gap == Gap.SKIP:
        slots = ()
    elif gap and cron.gap == Gap.AT_TRANSITION:
        slots = slots[:1]
    return ClockChange(
        at=instant(segment.start),
        day=date.fromordinal((segment.start + segment.offset) // DAY + _TO_1970),
        kind="gap" if gap else "fold",
        times=times,
        slots=slots,
        rule=_RULES[cron.gap if gap else cron.fold],
    )


def slots_of(timetable: Timetable, after: datetime, until: datetime) -> Iterator[datetime]:
    """The slots in (after, until], in order."""
    slot = timetable.next(after)
    while slot is not None and slot <= until:
        yield slot
        slot = None if timetable.follows_end else timetable.next(slot)


def difference(
    old: Timetable, new: Timetable, after: datetime, until: datetime, limit: int = 100
) -> tuple[list[datetime], list[datetime]]:
    """What replacing ``old`` by ``new`` adds to and takes from the slots of (after, until]: (added, removed), each
    the first ``limit`` at most. Looks at 20 times the limit of slots of each and no further, so that of two rules by
    the minute only the beginning is compared."""
    most = 20 * limit
    ours, theirs = (list(islice(slots_of(one, after, until), most)) for one in (new, old))
    # What lies past the last slot that was looked at says nothing about a difference.
    for slots in (ours, theirs):
        if len(slots) == most:
            until = min(until, slots[-1])
    mine, other = ({slot for slot in slots if slot <= until} for slots in (ours, theirs))
    return sorted(mine - other)[:limit], sorted(other - mine)[:limit]
