"""One round over the undecided slots of a schedule: each is decided once, in order, equal ones as a range. Pure."""

from __future__ import annotations

from collections import deque
from collections.abc import Iterator
from dataclasses import dataclass, replace
from datetime import datetime, timedelta

from scheduler.decisions import Cursor, Decision, Fire, Plan
from scheduler.policies import Policies
from scheduler.states import Status
from scheduler.timetables.base import Run, Timetable

SECOND = timedelta(seconds=1)
MOST_FIRES = 1000
"""Slots fired in one round, whatever the policy says: the rest follows in the next ones."""
LOOK_AHEAD = timedelta(days=366)
"""How far excluded slots are looked for when no other slot is to come."""

EXCLUDED_DATE = "excluded date"
SKIPPED_ONCE = "skipped once"


@dataclass(frozen=True, slots=True)
class _Mark:
    """Slots whose decision is known before any policy is asked; without ``row`` it is on record already."""

    first: datetime
    last: datetime
    row: Decision | None = None


class Round:
    """Walks from the cursor to ``now``. Asks the timetable a few times for a range, never once for each slot of it."""

    def __init__(self, timetable: Timetable, policies: Policies, cursor: Cursor, now: datetime) -> None:
        self.timetable = timetable
        self.cursor = cursor
        self.now = now
        self.until = _whole(now)
        self.at = _whole(cursor.last_planned_at)
        self.left = None if policies.max_runs is None else max(0, policies.max_runs - cursor.fired)
        self.fires: list[Fire] = []
        self._rows: list[Fire | Decision | None] = []  # None: slots decided before, which no range may span
        self._reached = cursor.last_planned_at
        self._window_start = cursor.last_fired_at
        self._marks = deque(self._find_marks())

    def _find_marks(self) -> list[_Mark]:
        rows = [
            Decision(Status.EXCLUDED, EXCLUDED_DATE, run.first, run.last, run.count)
            for whole in self._excluded(self.at, self.until)
            for run in self._undecided(whole)
        ]
        rows += [
            Decision(Status.SKIPPED, SKIPPED_ONCE, slot, slot)
            for slot in self.cursor.skips
            if self.at < slot <= self.until and self.timetable.matches(slot) and not self._decided(slot, slot)
        ]
        marks = [_Mark(row.planned_at, row.planned_until, row) for row in rows]
        marks += [_Mark(*span) for span in self._decided(self.at + SECOND, self.until)]
        return sorted(marks, key=lambda mark: mark.first)

    def _decided(self, first: datetime, last: datetime) -> list[tuple[datetime, datetime]]:
        """The stretches on record that touch ``[first, last]``."""
        return sorted(span for span in self.cursor.decided if span[0] <= last and span[1] >= first)

    def _undecided(self, run: Run) -> list[Run]:
        """What of an excluded run is not on record yet."""
        on_record = self._decided(run.first, run.last)
        if not on_record:
            return [run]
        left, after = [], run.first - SECOND
        for first, last in on_record:
            left += self._excluded(after, first - SECOND)
            after = max(after, last)
        return left + self._excluded(after, run.last)

    def _known(self, slot: datetime) -> tuple[datetime, datetime] | None:
        """The stretch around ``slot`` that no policy has to decide."""
        if slot in self.cursor.skips:
            return slot, slot
        return next((span for span in self.cursor.decided if span[0] <= slot <= span[1]), None)

    def _excluded(self, after: datetime, until: datetime) -> list[Run]:
        return self.timetable.excluded(after, until) if after < until else []

    # -- looking ------------------------------------------------------------------------------------------------

    @property
    def over(self) -> bool:
        """Whether the schedule has had all its runs: no further slot is planned."""
        return self.left == 0

    def late(self, allowed: timedelta) -> datetime:
        """The last whole second that lies longer ago than ``allowed``: slots up to there are later than that."""
        try:
            edge = self.now - allowed
        except OverflowError:
            return self.at
        whole = _whole(edge)
        return whole if whole < edge else whole - SECOND

    def open(self) -> Iterator[datetime]:
        """The slots still to be decided, oldest first; whoever takes one decides it before the next is asked for."""
        while not self.over:
            slot = self.timetable.next(self.at)
            if slot is None or slot > self.until:
                return
            if self._known(slot):
                self._pass_marks(slot)
            else:
                yield slot

    def newest(self) -> datetime | None:
        """The newest slot still to be decided."""
        slot = self.timetable.previous(self.until + SECOND)
        while slot is not None and slot > self.at and (known := self._known(slot)):
            slot = self.timetable.previous(known[0])
        return slot if slot is not None and slot > self.at else None

    # -- deciding -----------------------------------------------------------------------------------------------

    def through(self, until: datetime, status: Status, reason: str) -> None:
        """Decide every slot up to ``until`` so, but those whose decision is known already."""
        until = min(_whole(until), self.until)
        while self._marks and self._marks[0].first <= until:
            mark = self._marks.popleft()
            if status is Status.PAUSED and mark.row is not None and mark.row.status is Status.SKIPPED:
                continue  # while paused it would not have run anyway
            self._range(mark.first - SECOND, status, reason)
            self._pass(mark)
        self._range(until, status, reason)

    def fire(self, slot: datetime, *, origin: str, contiguous: bool) -> None:
        """Run ``slot``, the next to decide. ``contiguous``: its work begins where that of the last fired one ended."""
        if not contiguous:
            window = self.timetable.previous(slot)
        elif self._window_start is not None:
            window = self._window_start
        else:
            first = self.timetable.next(_whole(self.cursor.last_planned_at))
            window = self.timetable.previous(first) if first is not None else None
        self._pass_marks(slot - SECOND)
        fired = Fire(slot, window, origin)
        self.fires.append(fired)
        self._rows.append(fired)
        self.at = self._reached = self._window_start = slot
        if self.left is not None:
            self.left -= 1

    def _pass_marks(self, until: datetime) -> None:
        """Decide what is known up to ``until``; there is no other slot on the way."""
        while self._marks and self._marks[0].first <= until:
            mark = self._marks.popleft()
            self._pass(mark)

    def _pass(self, mark: _Mark) -> None:
        if mark.row is not None:
            self._put(mark.row)
        else:
            self._rows.append(None)
            self._reached = max(self._reached, mark.last)
        self.at = max(self.at, mark.last)

    def _range(self, until: datetime, status: Status, reason: str) -> None:
        if until <= self.at:
            return
        first = self.timetable.next(self.at)
        if first is not None and first <= until:
            last = self.timetable.previous(until + SECOND) or first
            count = 1 if last == first else self.timetable.count(self.at, until)
            self._put(Decision(status, reason, first, last, count))
        self.at = until

    def _put(self, row: Decision) -> None:
        self._reached = row.planned_until
        before = self._rows[-1] if self._rows else None
        if isinstance(before, Decision) and (before.status, before.reason) == (row.status, row.reason):
            self._rows[-1] = replace(before, planned_until=row.planned_until, count=before.count + row.count)
        else:
            self._rows.append(row)

    # -- the end ------------------------------------------------------------------------------------------------

    def end(self, *, more: bool = False, episode: int = 0) -> Plan:
        """The plan. ``more``: slots up to now are left for the next round."""
        if not more and not self.over:
            self._pass_marks(self.until)
        reached = self._reached
        dropped = self.cursor.dropped_until
        cursor = replace(
            self.cursor,
            last_planned_at=reached,
            last_fired_at=self.fires[-1].planned_at if self.fires else self.cursor.last_fired_at,
            fired=self.cursor.fired + len(self.fires),
            episode=episode,
            skips=frozenset(slot for slot in self.cursor.skips if slot > reached),
            dropped_until=dropped if dropped is not None and dropped > self.now else None,
            decided=tuple(span for span in self.cursor.decided if span[1] > reached),
        )
        decisions = tuple(row for row in self._rows if isinstance(row, Decision))
        due, slot = (None, None) if self.over else self._ahead(cursor)
        return Plan(tuple(self.fires), decisions, cursor, self.now if more else due, slot)

    def _ahead(self, cursor: Cursor) -> tuple[datetime | None, datetime | None]:
        """When the next slot comes, be it only to be noted as excluded, and the next one that will fire."""
        after = _whole(cursor.last_planned_at)
        due = slot = self.timetable.next(after)
        while slot is not None and (known := self._known(slot)):
            slot = self.timetable.next(known[1])
        runs = self._excluded(after, due - SECOND if due is not None else after + LOOK_AHEAD)
        return (runs[0].first if runs else due), slot


def _whole(instant: datetime) -> datetime:
    """Slots lie on whole seconds, so up to ``instant`` and up to this are the same slots."""
    return instant.replace(microsecond=0)
