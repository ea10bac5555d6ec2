"""Timetables: the rules of when. Pure: neither Django nor Celery, and time is an argument."""

from scheduler.timetables.base import Run, Timetable
from scheduler.timetables.config import build, limits, normalise
from scheduler.timetables.describe import describe
from scheduler.timetables.errors import TimetableError
from scheduler.timetables.impact import ClockChange, clock_changes, difference
from scheduler.timetables.zones import zone

__all__ = [
    "ClockChange",
    "Run",
    "Timetable",
    "TimetableError",
    "build",
    "clock_changes",
    "describe",
    "difference",
    "limits",
    "normalise",
    "zone",
]
