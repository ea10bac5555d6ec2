"""Lengths of time as people write them. Pure."""

from __future__ import annotations

import re

from scheduler.timetables.errors import TimetableError
from scheduler.timetables.instants import DAY

LONGEST = 100 * 366 * DAY
_UNITS = {"w": 7 * DAY, "d": DAY, "h": 3600, "m": 60, "s": 1}
_SHORT = re.compile(r"(?:(\d+)w)?(?:(\d+)d)?(?:(\d+)h)?(?:(\d+)m)?(?:(\d+)s)?", re.ASCII)
_ISO = re.compile(r"P(?:(\d+)W)?(?:(\d+)D)?(?:T(?=\d)(?:(\d+)H)?(?:(\d+)M)?(?:(\d+)S)?)?", re.ASCII)
_MONTHS = re.compile(r"P\d+[MY]|\d+ ?(?:mo|months?|y|years?)", re.ASCII | re.IGNORECASE)
_NUMBER = re.compile(r"[+-]?\d+(?:\.\d*)?(?:e[+-]?\d+)?", re.ASCII | re.IGNORECASE)
_HINT = "Write e.g. 7m, 1h30m, 2d, PT90S, or a number of seconds."


def seconds(value: object, name: str = "every") -> int:
    """The length in whole seconds, from 1 s to 100 years: a number of seconds, ``1h30m`` or ISO 8601 without months.

    Raises TimetableError: ``INTERVAL_SYNTAX``, ``INTERVAL_RANGE``, ``INTERVAL_FRACTION``, ``INTERVAL_MONTHS``.
    """
    read = str(value).strip()
    shown = read if len(read) <= 40 else read[:40] + "…"
    if isinstance(value, bool) or not isinstance(value, int | float | str) or len(read) > 64:
        raise TimetableError("INTERVAL_SYNTAX", name, shown, f"{shown!r} is no length of time.", _HINT)
    number = _of_number(read) if _NUMBER.fullmatch(read) else _of_text(read, name, shown)
    if number != number or number in (float("inf"), float("-inf")):
        raise TimetableError("INTERVAL_RANGE", name, shown, f"{shown} is out of range.", _HINT)
    if number < 1:
        raise TimetableError("INTERVAL_RANGE", name, shown, f"{shown} is less than a second.", _HINT)
    if number > LONGEST:
        raise TimetableError("INTERVAL_RANGE", name, shown, f"{shown} is more than 100 years.", _HINT)
    if number != int(number):
        raise TimetableError(
            "INTERVAL_FRACTION",
            name,
            shown,
            f"{shown} is not a whole number of seconds.",
            f"Write {int(number)}.",
        )
    return int(number)


def _of_number(read: str) -> float:
    return int(read) if read.isdigit() else float(read)


def _of_text(read: str, name: str, shown: str) -> int:
    text = read.replace(" ", "")
    if _MONTHS.fullmatch(read):
        raise TimetableError(
            "INTERVAL_MONTHS", name, shown, f"{shown!r}: months and years differ in length.",
            "Give `months` instead, or days.",
        )  # fmt: skip
    found = _ISO.fullmatch(text.upper()) or _SHORT.fullmatch(text.lower())
    if found is None or not any(found.groups()):
        raise TimetableError("INTERVAL_SYNTAX", name, shown, f"{shown!r} is no length of time.", _HINT)
    return sum(int(part) * _UNITS[unit] for part, unit in zip(found.groups(), "wdhms", strict=True) if part)
