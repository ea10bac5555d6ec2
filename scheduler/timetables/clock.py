"""When the clocks of a zone change, in whole seconds of UTC. Pure.

A local time here is a number too: the seconds since 1970 that the wall clock shows, so ``local = utc + offset``.
"""

from __future__ import annotations

from bisect import bisect_right
from datetime import datetime
from functools import cache
from typing import NamedTuple
from zoneinfo import ZoneInfo

from scheduler.timetables.instants import DAY, EARLIEST, LATEST
from scheduler.timetables.zones import zone


class Segment(NamedTuple):
    """A stretch of time with one offset: ``[start, end)``; ``before`` and ``following`` are the offsets around it.

    The clock changes at ``start`` when ``before`` differs from ``offset``: forward (a gap) when it was smaller,
    back (a fold) when it was greater. A segment may also end where nothing changes.
    """

    start: int
    end: int
    offset: int
    before: int
    following: int


_BLOCK = 25  # 2**25 s, 388 days: what is searched for changes at once
_PROBE = 19  # 2**19 s, 6 days: no zone has changed its clocks twice within so short a time since 1900


class Clock:
    """The wall clock of one zone."""

    def __init__(self, name: str) -> None:
        self.zone = zone(name)
        self._blocks: dict[int, tuple[list[int], list[Segment]]] = {}
        self._steady = self.zone.key == "UTC"

    def segment(self, at: int) -> Segment:
        """The one that holds this second."""
        if self._steady:
            return _ALWAYS
        block = self._blocks.get(at >> _BLOCK)
        if block is None:
            block = self._blocks[at >> _BLOCK] = self._search(at >> _BLOCK)
        return block[1][bisect_right(block[0], at) - 1]

    def offset(self, at: int) -> int:
        """What the wall clock shows more than UTC."""
        return self.segment(at).offset

    def changes(self, after: int, until: int) -> list[Segment]:
        """The segments that begin in (after, until] with a change of the clock, in order."""
        found, at = [], max(after, EARLIEST)
        while at < min(until, LATEST):
            at = self.segment(at).end
            segment = self.segment(at)
            if at <= until and segment.before != segment.offset:
                found.append(segment)
        return found

    def spans(self, start: int, end: int) -> list[tuple[int, int]]:
        """The stretches of UTC while the wall clock shows a time of ``[start, end)``, in order."""
        found, at = [], start - DAY - DAY // 2
        while at < end + DAY + DAY // 2:
            segment = self.segment(at)
            first = max(segment.start, start - segment.offset)
            last = min(segment.end, end - segment.offset)
            if first < last:
                found.append((first, last))
            at = segment.end
        return found

    def instant(self, local: int) -> int:
        """The first instant at which the wall clock shows ``local``; when it never does, that of the change which
        leaves it out."""
        at = local - DAY - DAY // 2
        while True:
            segment = self.segment(at)
            if local < segment.start + segment.offset:
                return segment.start
            if local < segment.end + segment.offset:
                return local - segment.offset
            at = segment.end

    def _search(self, block: int) -> tuple[list[int], list[Segment]]:
        start, end = block << _BLOCK, (block + 1) << _BLOCK
        tz, starts, offsets = self.zone, [start], [_offset(self.zone, start - 1), _offset(self.zone, start)]
        for probe in range(start, end, 1 << _PROBE):
            low, high = probe, min(probe + (1 << _PROBE), end - 1)
            if (new := _offset(tz, high)) != offsets[-1]:
                while high - low > 1:
                    middle = (low + high) // 2
                    low, high = (low, middle) if _offset(tz, middle) == new else (middle, high)
                starts.append(high)
                offsets.append(new)
        offsets.append(_offset(tz, end))
        ends = [*starts[1:], end]
        return starts, [
            Segment(starts[n], ends[n], offsets[n + 1], offsets[n], offsets[n + 2])
            for n in range(len(starts))
        ]


_ALWAYS = Segment(EARLIEST - (1 << 33), LATEST + (1 << 33), 0, 0, 0)


def _offset(tz: ZoneInfo, at: int) -> int:
    offset = datetime.fromtimestamp(at, tz).utcoffset()
    assert offset is not None
    return offset.days * DAY + offset.seconds


@cache
def clock(name: str) -> Clock:
    """The clock of a zone; one for each name. Raises TimetableError as ``zone`` does."""
    return Clock(name) if name == (key := zone(name).key) else clock(key)
