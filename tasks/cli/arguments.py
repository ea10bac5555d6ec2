"""Values that people type: times, lengths, priorities, counts, ids, names of enums.

Each reader raises ``InvalidInput`` whose message says what is expected, with an example or the nearest name.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable
from datetime import UTC, datetime, timedelta
from enum import Enum
from uuid import UUID
from zoneinfo import ZoneInfo

from jobsplatform.kernel import config
from jobsplatform.kernel.errors import InvalidInput, UnknownName, did_you_mean
from tasks.states import MAX_PRIORITY, Priority

_UNITS = {"ms": 0.001, "s": 1.0, "m": 60.0, "h": 3600.0, "d": 86_400.0, "w": 604_800.0}
_SPELLINGS = {
    "s": ("sec", "secs", "second", "seconds"),
    "m": ("min", "mins", "minute", "minutes"),
    "h": ("hr", "hrs", "hour", "hours"),
    "d": ("day", "days"),
    "w": ("week", "weeks"),
}
_UNIT_NAMES = {spelling: unit for unit, spellings in _SPELLINGS.items() for spelling in spellings}
_PART = re.compile(r"(\d+(?:\.\d+)?)\s*([a-z]+)")
_LENGTH = re.compile(r"(?:\d+(?:\.\d+)?\s*[a-z]+\s*)+")
MAX_SECONDS = 10 * 365 * 86_400.0
MAX_LIMIT = 10_000


def seconds(text: str) -> float:
    """``90``, ``90s``, ``5m``, ``1h30m``, ``7d``, ``2w`` in seconds; from 0 to ten years."""
    wanted = text.strip().lower()
    value = float(wanted) if re.fullmatch(r"\d+(\.\d+)?", wanted) else _sum_of_parts(wanted, text)
    if value > MAX_SECONDS:
        raise InvalidInput(f"The length of time {text!r} is more than ten years.")
    return value


def _sum_of_parts(wanted: str, text: str) -> float:
    if not _LENGTH.fullmatch(wanted):
        raise InvalidInput(f"{text!r} is no length of time. Expected e.g. 90s, 5m, 1h30m or 7d.")
    total = 0.0
    for number, unit in _PART.findall(wanted):
        unit = _UNIT_NAMES.get(unit, unit)
        if unit not in _UNITS:
            raise InvalidInput(
                f"Unknown unit {unit!r} in {text!r}.{did_you_mean(unit, [*_UNITS, *_UNIT_NAMES])}"
            )
        total += float(number) * _UNITS[unit]
    return total


def instant(text: str, now: datetime, *, past: bool = False) -> datetime:
    """An instant in UTC: ``now``, ISO 8601, or a length of time from now.

    A time without a zone is in TIME_ZONE; a date alone is its midnight there. A length is ahead (``+5m``,
    ``5m``), or ago (``-5m``, ``5m ago``); without a sign it is ago when ``past``.
    """
    wanted = text.strip()
    if wanted.lower() == "now":
        return now
    when = _relative(wanted, now, past=past) or _absolute(wanted, text)
    return when.astimezone(UTC)


def _relative(wanted: str, now: datetime, *, past: bool) -> datetime | None:
    """None when it does not look like a length of time."""
    ago = wanted.lower().endswith(" ago") or wanted.startswith("-")
    ahead = wanted.startswith("+") or wanted.lower().startswith("in ")
    bare = re.sub(r"^(\+|-|in )|\s+ago$", "", wanted, flags=re.IGNORECASE).strip()
    if not (ago or ahead) and (not _LENGTH.fullmatch(bare.lower()) or not bare[-1:].isalpha()):
        return None
    span = timedelta(seconds=seconds(bare))
    return now - span if ago or (past and not ahead) else now + span


def _absolute(wanted: str, text: str) -> datetime:
    try:
        when = datetime.fromisoformat(wanted)
    except ValueError:
        raise InvalidInput(
            f"{text!r} is no time. Expected e.g. 2026-01-31T12:00, 2026-01-31T12:00:00Z, 2026-01-31, "
            "now or +5m."
        ) from None
    zone = ZoneInfo(config.get().time_zone)
    try:
        return (when if when.tzinfo else when.replace(tzinfo=zone)).astimezone(UTC)
    except OverflowError:
        raise InvalidInput(f"{text!r} is outside the years that can be stored.") from None


def priority(text: str) -> int:
    """A name (background, normal, user_action, urgent) or a number from 0 to 9999."""
    if re.fullmatch(r"[+-]?\d+", text):
        value = int(text) if len(text) <= 12 else MAX_PRIORITY + 1
        if not 0 <= value <= MAX_PRIORITY:
            raise InvalidInput(f"The priority {text} is outside 0 to {MAX_PRIORITY}.")
        return value
    name = text.strip().upper().replace("-", "_")
    if name not in Priority.__members__:
        raise UnknownName("priority", text, [member.lower() for member in Priority.__members__])
    return int(Priority[name])


def priority_name(value: int) -> str:
    """The name of a priority, or its number when it has none."""
    try:
        return Priority(value).name.lower()
    except ValueError:
        return str(value)


def count(text: str) -> int:
    """How many rows to show: from 1 to 10000."""
    if not re.fullmatch(r"\d{1,9}", text) or not 1 <= int(text) <= MAX_LIMIT:
        raise InvalidInput(f"{text!r} is no number from 1 to {MAX_LIMIT}.")
    return int(text)


def job_id(text: str) -> UUID:
    """A job's id."""
    try:
        return UUID(text)
    except ValueError:
        raise InvalidInput(
            f"{text!r} is no job id. Expected one like 0199c3f2-6c1e-7a3b-8d4e-5f60718293a4 "
            "('jobs list' shows them)."
        ) from None


def member(kind: str, members: Iterable[Enum]) -> Callable[[str], str]:
    """A reader of one of the members' values."""
    known = [str(item.value) for item in members if item.value]

    def read(text: str) -> str:
        if text.lower() not in known:
            raise UnknownName(kind, text, known)
        return text.lower()

    return read
