"""A timetable in English. Pure."""

from __future__ import annotations

from scheduler.timetables.base import Timetable


def describe(timetable: Timetable) -> str:
    """One sentence without a full stop."""
    return timetable.expression
