"""Instants that people type, read in the zone of a schedule."""

from __future__ import annotations

from datetime import datetime, tzinfo
from zoneinfo import ZoneInfo

from scheduler.timetables.moments import moment
from tasks.cli import arguments


def instant(text: str, zone: ZoneInfo, now: datetime, name: str, *, past: bool = False) -> datetime:
    """ISO 8601, ``now`` or a length from now, in UTC; without an offset it is the wall clock of ``zone``.

    ``name``: of the option. Raises TimetableError, and InvalidInput for what is neither.
    """
    try:
        datetime.fromisoformat(text.strip())
    except ValueError:
        return arguments.instant(text, now, past=past)
    return moment(text.strip(), zone.key, name)


def local(when: datetime, zone: tzinfo) -> str:
    """``Mon 2026-03-30 02:30 CEST``: the wall clock there, seconds only when there are some."""
    there = when.astimezone(zone)
    seconds = there.strftime(":%S") if there.second else ""
    return f"{there.strftime('%a %Y-%m-%d %H:%M')}{seconds} {there.strftime('%Z')}"
