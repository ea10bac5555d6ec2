"""Cron expressions, walked over the wall clock of a zone. Pure.

The set of slots is defined once, for ``next``, ``previous``, ``matches`` and ``count`` alike: within a stretch of one
offset a slot is where the wall clock shows a time of the pattern; ``fold`` says which pass of a repeated time counts,
``gap`` what becomes of a skipped one. See docs/timetables.md.
"""

from __future__ import annotations

from datetime import datetime
from functools import lru_cache

from scheduler.states import Fold, Gap
from scheduler.timetables.base import Run
from scheduler.timetables.calendar import Pattern
from scheduler.timetables.clock import Segment, clock
from scheduler.timetables.errors import TimetableError
from scheduler.timetables.fields import FIELDS, hashed, read
from scheduler.timetables.instants import DAY, EARLIEST, LATEST, ceiling, floor, instant

LONGEST = 256
ALIASES = {
    "@yearly": "0 0 1 1 *",
    "@annually": "0 0 1 1 *",
    "@monthly": "0 0 1 * *",
    "@weekly": "0 0 * * 0",
    "@daily": "0 0 * * *",
    "@midnight": "0 0 * * *",
    "@hourly": "0 * * * *",
}
_STEPS = 120  # stretches of one offset that a search walks through: some 50 years of clock changes in vain
_SLACK = 2 * DAY  # no two offsets of a zone lie further apart
_FROM_2040 = 2_208_988_800  # from here on zones only follow their rules for ever


class Cron:
    """A cron timetable in a zone."""

    follows_end = False

    def __init__(
        self, pattern: Pattern, zone: str, gap: Gap = Gap.DEFAULT, fold: Fold = Fold.DEFAULT
    ) -> None:
        self.pattern = pattern
        self.clock = clock(zone)
        self.gap = gap or (Gap.SKIP if pattern.elapsed else Gap.AT_TRANSITION)
        self.fold = fold or (Fold.BOTH if pattern.elapsed else Fold.FIRST)

    @property
    def expression(self) -> str:
        """Five fields in numbers: names, aliases and ``H`` resolved, ``N/step`` written out."""
        return self.pattern.text

    def next(self, after: datetime) -> datetime | None:
        """The first slot strictly after ``after``; None when none comes within some 50 years of looking."""
        at = max(floor(after), EARLIEST - 1)
        if at >= LATEST:
            return None
        for _ in range(_STEPS):
            segment = self.clock.segment(at + 1)
            low, high = self._window(segment)
            found = self.pattern.next(max(at + segment.offset, low - 1))
            best = found - segment.offset if found is not None and found < high else None
            for extra in self._made_up(segment, at + 1, segment.end):
                best = extra if best is None else min(best, extra)
                break
            if best is not None:
                return instant(best) if best < LATEST else None
            if segment.following < segment.offset:
                at = segment.end - 1  # the clock goes back: times before `found` come again
            elif found is None:
                return None
            else:
                at = max(segment.end - 1, found - segment.offset - _SLACK)
        return None

    def previous(self, before: datetime) -> datetime | None:
        """The last slot strictly before ``before``; None when there is none within some 50 years."""
        at = min(ceiling(before), LATEST)
        if at <= EARLIEST:
            return None
        for _ in range(_STEPS):
            segment = self.clock.segment(at - 1)
            low, high = self._window(segment)
            found = self.pattern.previous(min(at + segment.offset, high))
            best = found - segment.offset if found is not None and found >= low else None
            for extra in reversed(self._made_up(segment, segment.start, at)):
                best = extra if best is None else max(best, extra)
                break
            if best is not None:
                return instant(best) if best >= EARLIEST else None
            if segment.before > segment.offset:
                at = segment.start
            elif found is None:
                return None
            else:
                at = min(segment.start, found - segment.offset + _SLACK)
        return None

    def matches(self, at: datetime) -> bool:
        """Whether ``at`` is a slot."""
        second = floor(at)
        if second != ceiling(at) or not EARLIEST <= second < LATEST:
            return False
        segment = self.clock.segment(second)
        return self._regular(segment, second) or second in self._made_up(segment, second, second + 1)

    def count(self, after: datetime, until: datetime) -> int:
        """How many slots lie in (after, until]; costs by clock changes and months in between."""
        at, end = max(floor(after) + 1, EARLIEST), min(floor(until) + 1, LATEST)
        total = 0
        while at < end:
            segment = self.clock.segment(at)
            last = min(end, segment.end)
            low, high = self._window(segment)
            total += self.pattern.count(max(at + segment.offset, low), min(last + segment.offset, high))
            total += sum(not self._regular(segment, one) for one in self._made_up(segment, at, last))
            at = segment.end
        return total

    def due(self, slot: datetime) -> datetime:
        """The slot itself."""
        return slot

    def excluded(self, after: datetime, until: datetime) -> list[Run]:
        """None: exclusion dates are around a timetable, see ``bounds``."""
        return []

    def _window(self, segment: Segment) -> tuple[int, int]:
        """The local times ``[low, high)`` that count within a segment."""
        start, end, offset, before, following = segment
        low = start + (before if self.fold == Fold.FIRST and before > offset else offset)
        return low, end + (following if self.fold == Fold.LAST and following < offset else offset)

    def _regular(self, segment: Segment, second: int) -> bool:
        low, high = self._window(segment)
        return low <= second + segment.offset < high and self.pattern.matches(second + segment.offset)

    def _made_up(self, segment: Segment, start: int, end: int) -> list[int]:
        """Slots in [start, end) in place of the times that the gap before this segment left out."""
        skipped = segment.offset - segment.before
        if skipped <= 0 or start >= segment.start + skipped or self.gap == Gap.SKIP:
            return []
        first = segment.start + segment.before
        if self.gap == Gap.AT_TRANSITION:
            found = self.pattern.next(first - 1)
            inside = found is not None and found < first + skipped and start <= segment.start < end
            return [segment.start] if inside else []
        local, shifted = self.pattern.next(first - 1), []
        while local is not None and local < first + skipped:
            if start <= (second := local - segment.before) < end:
                shifted.append(second)
            local = self.pattern.next(local)
        return shifted


@lru_cache(maxsize=4096)
def cron(text: str, zone: str, gap: Gap = Gap.DEFAULT, fold: Fold = Fold.DEFAULT, seed: str = "") -> Cron:
    """The timetable of an expression; ``seed`` is what ``H`` is hashed by. Raises TimetableError."""
    timetable = Cron(parse(text, seed)[0], zone, gap, fold)
    if timetable.next(instant(_FROM_2040)) is None:
        raise TimetableError(
            "CRON_NEVER", "hour", text,
            f"the clocks of {zone} are set forward over this time whenever it would come.",
            "Write a time that is not skipped, or gap 'at_transition'.",
        )  # fmt: skip
    return timetable


def parse(text: str, seed: str = "") -> tuple[Pattern, str]:
    """The pattern, and the text put in order. Raises TimetableError, see docs/timetables.md for every code."""
    if not isinstance(text, str):
        raise TimetableError("CRON_TEXT", "cron", repr(text)[:40], "an expression is a text.", _FIVE)
    if len(text) > LONGEST:
        raise TimetableError(
            "CRON_LONG", "cron", text[:40] + "…",
            f"{len(text)} characters; at most {LONGEST} are read.", "Use several schedules.",
        )  # fmt: skip
    return _parse(text, seed)


@lru_cache(maxsize=4096)
def _parse(text: str, seed: str) -> tuple[Pattern, str]:
    words = _words(text)
    minute, hour, day, month, weekday = (
        read(spec, word, hashed(seed)) for spec, word in zip(FIELDS, words, strict=True)
    )
    pattern = Pattern(
        minutes=minute.bits,
        hours=hour.bits,
        days=day.bits,
        months=month.bits,
        weekdays=weekday.bits,
        last_day=day.last_day,
        nths=tuple(sorted(weekday.nths)),
        last_weekdays=weekday.last_weekdays,
        both=words[2].startswith("*") or words[4].startswith("*"),
        elapsed=words[0].startswith("*") or words[1].startswith("*"),
        text=" ".join(",".join(one.shown) for one in (minute, hour, day, month, weekday)),
    )
    if not pattern.possible:
        raise TimetableError(
            "CRON_NEVER", "day-of-month", f"{words[2]} {words[3]} {words[4]}",
            "no year has such a date.", "Write a day that the month has; L is its last.",
        )  # fmt: skip
    typed = " ".join(",".join(one.typed) for one in (minute, hour, day, month, weekday))
    alias = text.strip().lower()
    return pattern, alias if alias in ALIASES else typed


def _words(text: str) -> list[str]:
    """The five fields. Raises TimetableError."""
    # Blanks and tabs part the fields; other characters that Unicode calls blank belong to nobody.
    if odd := next((sign for sign in text if not " " <= sign <= "~" and sign != "\t"), None):
        raise TimetableError(
            "CRON_SYNTAX", "cron", text[:40], f"the character {odd!a} cannot stand here.",
            "Write plain digits, names and * , - / # only, on one line.",
        )  # fmt: skip
    words = text.split()
    if words and words[0].startswith("@"):
        return _alias(" ".join(words).lower())
    if len(words) != len(FIELDS):
        raise _wrong_number(text, words)
    return words


_FIVE = "Write five: minute hour day-of-month month day-of-week, e.g. '30 2 * * *'."


def _alias(text: str) -> list[str]:
    if text in ALIASES:
        return ALIASES[text].split()
    hint = f"Known: {', '.join(ALIASES)}."
    message = f"{text[:40]!r} is no alias."
    if text == "@reboot":
        message, hint = "@reboot has no time to plan for.", "Start it from where the system starts."
    elif text.startswith("@every"):
        hint = "For a period use an interval, e.g. every 7m."
    raise TimetableError("CRON_ALIAS", "cron", text[:40], message, hint)


def _wrong_number(text: str, words: list[str]) -> TimetableError:
    shown, hint = text.strip()[:40], _FIVE
    if "=" in text:
        hint = "The zone is a field of its own: leave it out of the expression."
    elif len(words) == 6:
        hint = (
            "Seconds and years cannot be said: for less than a minute use an interval, e.g. every 30s. "
            + _FIVE
        )
    return TimetableError("CRON_FIELDS", "cron", shown, f"{len(words)} fields, not five.", hint)
