"""Two readings of one expression around a change of the clocks, and the named rules by which they may differ."""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass, replace
from datetime import UTC, datetime, timedelta
from functools import cache
from random import Random

from cronsim import CronSim, CronSimError

from chaos.cron import minutes
from chaos.cron.expressions import expression
from scheduler.timetables.clock import Segment, clock
from scheduler.timetables.cron import cron
from scheduler.timetables.errors import TimetableError
from scheduler.timetables.instants import DAY, floor, instant

ZONES = (
    "UTC", "Europe/Berlin", "Europe/London", "Europe/Dublin", "America/New_York", "America/St_Johns",
    "America/Sao_Paulo", "America/Santiago", "America/Havana", "America/Caracas", "America/Nuuk", "Atlantic/Azores",
    "Africa/Cairo", "Africa/Casablanca", "Asia/Beirut", "Asia/Gaza", "Asia/Kathmandu", "Asia/Pyongyang",
    "Asia/Tehran", "Australia/Lord_Howe", "Australia/Sydney", "Pacific/Apia", "Pacific/Chatham", "Antarctica/Troll",
)  # fmt: skip
"""Gaps and folds of half an hour, an hour, two, and a day; at midnight and in the small hours; and none."""

SLOTS = 12
_FROM, _TO = 631_152_000, 2_208_988_800  # 1990 to 2040
_LENGTH = timedelta(days=3)
_LONG = 2 * DAY  # longer ago a change has nothing to do with what comes
_TICKS = 20_000  # a comparison takes some hundred


Slots = list[datetime] | str  # or why there are none


@dataclass(frozen=True, slots=True)
class Case:
    """An expression in a zone, asked for what comes after an instant near ``change``."""

    text: str
    zone: str
    after: datetime
    change: Segment

    def __str__(self) -> str:
        return f"{self.text!r} {self.zone} after {self.after.isoformat()}"


@dataclass(frozen=True, slots=True)
class Disagreement:
    """``rule``: the name of what explains it; empty when nothing does."""

    case: Case
    ours: Slots
    theirs: Slots
    rule: str

    def __str__(self) -> str:
        return f"{self.case}: ours {_shown(self.ours)}, cronsim {_shown(self.theirs)}"


def _shown(slots: Slots) -> str:
    return slots if isinstance(slots, str) else ", ".join(slot.isoformat() for slot in slots[:4]) or "none"


def cases(seed: int, number: int) -> list[Case]:
    """Each of one expression: every zone, near one of its changes. The same for the same seed."""
    rng = Random(f"{seed}:{number}")
    text = expression(rng)
    return [_case(rng, text, zone) for zone in ZONES]


@cache
def _changes(zone: str) -> list[Segment]:
    return clock(zone).changes(_FROM, _TO)


def _case(rng: Random, text: str, zone: str) -> Case:
    changes = _changes(zone)
    # A zone that never changes its clocks is asked about any time.
    change = rng.choice(changes) if changes else clock(zone).segment(rng.randint(_FROM, _TO))
    at = change.start if changes else rng.randint(_FROM, _TO)
    shift = rng.choice((-rng.randint(0, 36 * 3600), -rng.randint(0, 3 * 3600), rng.randint(0, 3 * 3600)))
    return Case(text, zone, instant(at + shift), change)


def compare(case: Case) -> Disagreement | None:
    """None when both say the same: as many slots as both have within three days, at least one if there is one."""
    ours, theirs = _ours(case), _theirs(case)
    if ours == theirs or (isinstance(ours, str) and theirs == "refused"):
        return None
    at = _first_difference(ours, theirs)
    about = case if at is None else replace(case, change=_nearest(case, at))
    rule = next((name for name, holds in RULES.items() if holds(about, ours, theirs)), "")
    if rule and at is not None and isinstance(ours, list) and not _confirmed(about, ours, at):
        rule = ""
    return Disagreement(case, ours, theirs, rule)


def _first_difference(ours: Slots, theirs: Slots) -> datetime | None:
    """The first slot that one of them has; of ours alone when theirs are unknown."""
    if not isinstance(ours, list):
        return None
    return min(set(ours) ^ set(theirs if isinstance(theirs, list) else ()), default=None)


def _nearest(case: Case, at: datetime) -> Segment:
    """The change nearest to an instant, where there is one within some days."""
    second = floor(at)
    near = clock(case.zone).changes(second - 4 * DAY, second + 4 * DAY)
    return min(near, key=lambda change: abs(change.start - second), default=case.change)


def _ours(case: Case) -> Slots:
    try:
        timetable = cron(case.text, case.zone)
    except TimetableError as error:
        return error.code
    found: list[datetime] = []
    slot = timetable.next(case.after)
    while slot is not None and len(found) < SLOTS and (not found or slot <= case.after + _LENGTH):
        found.append(slot)
        slot = timetable.next(slot)
    return found


def _theirs(case: Case) -> Slots:
    try:
        walk = _Counted(case.text, case.after.astimezone(clock(case.zone).zone))
        found: list[datetime] = []
        for slot in walk:
            at = slot.astimezone(UTC)
            if len(found) == SLOTS or (found and at > case.after + _LENGTH):
                break
            found.append(at)
        return found
    except CronSimError:
        return "refused"
    except _Endless:
        return "endless"


class _Endless(Exception):
    pass


class _Counted(CronSim):
    """Gives up what would walk for ever."""

    ticks = 0

    def tick(self, seconds: int = 1) -> None:
        """A step of its walk."""
        self.ticks += 1
        if self.ticks > _TICKS:
            raise _Endless
        super().tick(seconds)


def _confirmed(case: Case, ours: list[datetime], at: datetime) -> bool:
    """Whether the reading by the minute agrees with ours, from before the difference to where the comparison ends."""
    begin = max(case.after, at - _LENGTH)
    end = max(at, ours[-1] if len(ours) == SLOTS else case.after + _LENGTH)
    # From before a change, so that it is known what the clock has shown.
    start = begin - timedelta(hours=3)
    if -_LONG < case.change.start - floor(begin) < 0:
        start -= timedelta(seconds=_LONG)
    slots = minutes.slots(case.text, clock(case.zone).zone, start, end)
    return [slot for slot in slots if slot > begin][:SLOTS] == [slot for slot in ours if begin < slot <= end]


# -- what explains a disagreement ------------------------------------------------------------------------------
#
# Each rule is about cronsim, and counts only where the reading by the minute agrees with ours.


def _asked_in_second_pass(case: Case, ours: Slots, theirs: Slots) -> bool:
    """It compares times of the wall clock: asked during the second pass, it gives a slot of the first again."""
    return isinstance(theirs, list) and bool(theirs) and theirs[0] <= case.after


def _never(case: Case, ours: Slots, theirs: Slots) -> bool:
    """It takes dates that never come, and then looks for 50 years."""
    return ours == "CRON_NEVER" and theirs == []


def _near(case: Case, ours: Slots, theirs: Slots) -> bool:
    """Elapsed time, and the first difference lies within a day and a half of the change."""
    at = _first_difference(ours, theirs)
    if at is None or not cron(case.text, case.zone).pattern.elapsed:
        return False
    return theirs == "endless" or abs(at - instant(case.change.start)) < timedelta(days=1, hours=12)


def _no_whole_hours(case: Case, ours: Slots, theirs: Slots) -> bool:
    """It walks hours from their minute 0 in steps of 3600 s, which a change of half an hour puts out of step."""
    return (case.change.offset - case.change.before) % 3600 != 0 and _near(case, ours, theirs)


def _not_on_the_hour(case: Case, ours: Slots, theirs: Slots) -> bool:
    """The same where the clocks change at a minute past the hour; it may then walk for ever."""
    return (case.change.start + case.change.before) % 3600 != 0 and _near(case, ours, theirs)


def _no_midnight(case: Case, ours: Slots, theirs: Slots) -> bool:
    """It begins each day at 00:00, also where the clocks skip it."""
    first, last = case.change.start + case.change.before, case.change.start + case.change.offset
    return first <= last // DAY * DAY < last and _near(case, ours, theirs)


def _range_of_one(case: Case, ours: Slots, theirs: Slots) -> bool:
    """It reads ``2-2/5`` as ``2/5``, which runs to the end of the field; here a range ends where it says."""
    return re.search(r"(?<![0-9-])([0-9]+)-\1/", case.text) is not None


RULES: dict[str, Callable[[Case, Slots, Slots], bool]] = {
    "asked in the second pass": _asked_in_second_pass,
    "a date that never comes": _never,
    "a range of one value": _range_of_one,
    "a change of no whole hours": _no_whole_hours,
    "a change not on the hour": _not_on_the_hour,
    "no midnight": _no_midnight,
}
