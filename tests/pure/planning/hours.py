"""An hourly schedule on one day, and plans as short lines: ``04:00 live``, ``02:00-03:00 coalesced …``."""

from datetime import UTC, datetime, timedelta
from typing import Any

from scheduler.decisions import Cursor, Fire, Plan
from scheduler.planning import plan
from scheduler.policies import Policies
from scheduler.states import Misfire
from scheduler.timetables.base import Timetable
from tests.pure.planning.oracle import in_order
from tests.pure.planning.timetables import Every

DAY = datetime(2026, 3, 2, tzinfo=UTC)
HOURLY = Every(timedelta(hours=1))


def at(clock: str, day: int = 2) -> datetime:
    """``01:30`` or ``01:30:05`` of that day in March."""
    return datetime.fromisoformat(f"2026-03-{day:02}T{clock}+00:00")


def policies(misfire: str, **more: Any) -> Policies:
    return Policies(Misfire(misfire), **more)


def planned(
    misfire: str, since: str, now: str, *, timetable: Timetable = HOURLY, state: Any = None, **more: Any
) -> Plan:
    return plan(timetable, policies(misfire, **more), Cursor(at(since), **(state or {})), at(now))


def lines(plan: Plan) -> list[str]:
    return [_line(row) for row in in_order(plan)]


def _line(row: Any) -> str:
    if isinstance(row, Fire):
        return f"{row.planned_at:%H:%M} {row.origin}"
    if row.count == 1:
        assert row.planned_at == row.planned_until
        return f"{row.planned_at:%H:%M} {row.status}: {row.reason}"
    return f"{row.planned_at:%H:%M}-{row.planned_until:%H:%M} x{row.count} {row.status}: {row.reason}"
