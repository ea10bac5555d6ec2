"""The five fields of a cron expression: what may stand in each, and how it is read. Pure."""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass, field
from hashlib import blake2b

from scheduler.timetables.errors import TimetableError

_DAYS = ("SUN", "MON", "TUE", "WED", "THU", "FRI", "SAT")
_MONTHS = ("JAN", "FEB", "MAR", "APR", "MAY", "JUN", "JUL", "AUG", "SEP", "OCT", "NOV", "DEC")


@dataclass(frozen=True, slots=True)
class Field:
    """``low`` to ``high`` may stand in it; ``end`` is where ``*`` and ``N/step`` end; ``hashed_end`` where ``H``
    does: a day that every month has."""

    name: str
    low: int
    high: int
    end: int
    hashed_end: int
    names: tuple[str, ...] = ()


FIELDS = (
    Field("minute", 0, 59, 59, 59),
    Field("hour", 0, 23, 23, 23),
    Field("day-of-month", 1, 31, 31, 28),
    Field("month", 1, 12, 12, 12, _MONTHS),
    Field("day-of-week", 0, 7, 6, 6, _DAYS),
)
MINUTE, HOUR, DAY, MONTH, WEEKDAY = FIELDS

_ATOM = "[0-9]+|[A-Z]+"
_RANGE = re.compile(rf"(?:(?P<star>\*)|(?P<first>{_ATOM})(?:-(?P<last>{_ATOM}))?)(?:/(?P<step>[0-9]+))?")
_HASH = re.compile(r"H(?:\((?P<first>[0-9]+)-(?P<last>[0-9]+)\))?(?:/(?P<step>[0-9]+))?")
_NTH = re.compile(rf"(?P<day>{_ATOM})#(?P<nth>[0-9]+)")
_LAST = re.compile(r"(?P<day>[0-7]|SUN|MON|TUE|WED|THU|FRI|SAT)L")
_SHOWN = 40

Hash = Callable[[Field], int]


@dataclass(slots=True)
class Values:
    """What a field names: numbers as bits (Sunday is 0), ``L``, ``#`` and ``5L``; ``shown`` is it written out in
    numbers, ``typed`` as the user did, put in order."""

    bits: int = 0
    last_day: bool = False
    nths: set[tuple[int, int]] = field(default_factory=set)
    last_weekdays: int = 0
    shown: list[str] = field(default_factory=list)
    typed: list[str] = field(default_factory=list)


def hashed(seed: str) -> Hash:
    """The number that ``H`` stands for in a field: of the seed (a schedule's id) alone, in every process for ever."""

    def of(spec: Field) -> int:
        return int.from_bytes(blake2b(f"{spec.name}\0{seed}".encode(), digest_size=8).digest())

    return of


def read(spec: Field, text: str, hash_of: Hash) -> Values:
    """The field's values. Raises TimetableError: ``CRON_SYNTAX``, ``CRON_RANGE``, ``CRON_REVERSED``,
    ``CRON_STEP``, ``CRON_NTH``, ``CRON_WEEKDAY`` (``W``)."""
    values = Values()
    for item in text.upper().split(","):
        _read_item(spec, item, values, hash_of)
    return values


def _read_item(spec: Field, item: str, values: Values, hash_of: Hash) -> None:
    if spec is DAY and item == "L":
        values.last_day = True
        values.shown.append(item)
        values.typed.append(item)
    elif spec is WEEKDAY and (found := _LAST.fullmatch(item)):
        day = _number(spec, found["day"], item) % 7
        values.last_weekdays |= 1 << day
        values.shown.append(f"{day}L")
        values.typed.append(item)
    elif spec is WEEKDAY and (found := _NTH.fullmatch(item)):
        _read_nth(spec, found, item, values)
    elif found := _HASH.fullmatch(item):
        _read_hashed(spec, found, item, values, hash_of)
    elif found := _RANGE.fullmatch(item):
        _read_range(spec, found, item, values)
    else:
        raise _syntax(spec, item)


def _read_nth(spec: Field, found: re.Match[str], item: str, values: Values) -> None:
    day, nth = _number(spec, found["day"], item) % 7, int(found["nth"])
    if not 1 <= nth <= 5:
        raise TimetableError(
            "CRON_NTH", spec.name, item, f"a month has a first to a fifth {_DAYS[day]}, not a number {nth}.",
            f"Write e.g. {found['day']}#1, or {found['day']}L for the last.",
        )  # fmt: skip
    values.nths.add((day, nth))
    values.shown.append(f"{day}#{nth}")
    values.typed.append(f"{found['day']}#{nth}")


def _read_hashed(spec: Field, found: re.Match[str], item: str, values: Values, hash_of: Hash) -> None:
    first, last = spec.low, spec.hashed_end
    if found["first"]:
        first, last = _number(spec, found["first"], item), _number(spec, found["last"], item)
        _in_order(spec, first, last, item)
    if found["step"]:
        step = _step(spec, int(found["step"]), item)
        start = first + hash_of(spec) % min(step, last - first + 1)
        _add(spec, values, start, last, step)
        values.shown.append(f"{start}-{last}/{step}" if start < last else f"{start}")
    else:
        start = first + hash_of(spec) % (last - first + 1)
        _add(spec, values, start, start, 1)
        values.shown.append(f"{start}")
    values.typed.append(item)


def _read_range(spec: Field, found: re.Match[str], item: str, values: Values) -> None:
    step = _step(spec, int(found["step"]), item) if found["step"] else 1
    tail = f"/{step}" if found["step"] else ""
    if found["star"]:
        first, last = spec.low, spec.end
        shown = typed = f"*{tail}"
    else:
        first = _number(spec, found["first"], item)
        last = _number(spec, found["last"], item) if found["last"] else spec.end if tail else first
        _in_order(spec, first, last, item)
        shown = f"{first}-{last}{tail}" if found["last"] or tail else f"{first}"
        typed = f"{_tidy(found['first'])}-{_tidy(found['last'] or str(spec.end))}{tail}"
        typed = typed if found["last"] or tail else _tidy(found["first"])
    _add(spec, values, first, last, step)
    values.shown.append(shown)
    values.typed.append(typed)


def _tidy(atom: str) -> str:
    return str(int(atom)) if atom.isdigit() else atom


def _add(spec: Field, values: Values, first: int, last: int, step: int) -> None:
    for number in range(first, last + 1, step):
        values.bits |= 1 << (number % 7 if spec is WEEKDAY else number)


def _number(spec: Field, atom: str, item: str) -> int:
    if atom in spec.names:
        return spec.names.index(atom) + (1 if spec is MONTH else 0)
    if not atom.isdigit():
        raise _syntax(spec, item)
    # Too long a number is out of range too; Python would refuse to read it.
    number = int(atom) if len(atom) <= 6 else 10**6
    if not spec.low <= number <= spec.high:
        raise TimetableError(
            "CRON_RANGE", spec.name, item[:_SHOWN],
            f"{atom[:_SHOWN]} is not between {spec.low} and {spec.high}.", _range_hint(spec, number),
        )  # fmt: skip
    return number


def _range_hint(spec: Field, number: int) -> str:
    if number == spec.high + 1 and spec.low == 0 and spec is not WEEKDAY:
        return f"Write 0 for the {spec.name} after {spec.high}."
    if number == 0:
        return f"The first {spec.name} is {spec.low}."
    if spec is WEEKDAY:
        return "0 and 7 are Sunday, 1 is Monday, 6 is Saturday."
    return f"Write a number from {spec.low} to {spec.high}, e.g. {min(spec.high, 15)}."


def _step(spec: Field, step: int, item: str) -> int:
    widest = spec.end - spec.low
    if 1 <= step <= widest:
        return step
    if step == 0:
        problem, hint = "a step of 0 goes nowhere.", "Write a step of at least 1, e.g. */5."
    else:
        problem = (
            f"a step of {step} is larger than the field ({spec.low}-{spec.end}) and would run once in it."
        )
        hint = f"Write {spec.low} for once; for every {step} {spec.name}s use an interval."
    raise TimetableError("CRON_STEP", spec.name, item[:_SHOWN], problem, hint)


def _in_order(spec: Field, first: int, last: int, item: str) -> None:
    if first > last:
        tail = "/" + item.rpartition("/")[2] if "/" in item else ""
        wrapped = f"{first}-{spec.end}{tail},{spec.low}-{last}{tail}"
        if spec is WEEKDAY and last == 0:
            wrapped = f"{first}-7{tail}"
        raise TimetableError(
            "CRON_REVERSED", spec.name, item, f"the range {item} ends before it begins.", f"Write {wrapped}."
        )


def _syntax(spec: Field, item: str) -> TimetableError:
    shown = item if len(item) <= _SHOWN else item[:_SHOWN] + "…"
    message, hint, code = f"{shown!r} cannot be read.", f"Write e.g. {_example(spec)}.", "CRON_SYNTAX"
    if item == "":
        message, hint = "a comma has nothing on one side.", f"Write e.g. {_example(spec)}."
    elif item == "?":
        message, hint = "'?' is of another cron.", "Write * instead."
    elif re.fullmatch(r"L?[0-9]{0,2}W|W[0-9]{0,2}", item) and spec is DAY:
        code, message = "CRON_WEEKDAY", f"{shown!r}: the nearest weekday (W) is not known here."
        hint = "Write MON-FRI as day-of-week, or a fixed day."
    elif spec is WEEKDAY and re.fullmatch(r"L[0-7]", item):
        message, hint = f"{shown!r} cannot be read.", f"For the last one of a month write {item[1]}L."
    elif spec is WEEKDAY and item == "L":
        message, hint = (
            "'L' is a day of the month.",
            "For the last Friday of a month write 5L, for Saturday 6.",
        )
    elif spec is DAY and re.fullmatch(r"L-[0-9]+", item):
        message, hint = f"{shown!r}: days before the last cannot be named.", "Write L, or a fixed day."
    elif spec.names and item[:3] in spec.names:
        message, hint = f"{shown!r} is no name.", f"Write {item[:3]}."
    return TimetableError(code, spec.name, shown, message, hint)


def _example(spec: Field) -> str:
    if spec.names:
        return f"{spec.names[1]}-{spec.names[4]}, or * for every one"
    return f"{spec.low}, {spec.low}-{spec.low + 4}, */5, or * for every one"
