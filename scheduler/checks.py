"""System checks of the schedules that code declares: every fault of each, with its place. Errors stop ``manage.py``."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from django.core import checks

from scheduler import definition
from scheduler.registry import ScheduleRegistry, registry
from scheduler.spec import WHEN, Fault

PREFIX = "jobsplatform.scheduler"

_NUMBERS = {"JOB_UNKNOWN": "E001", "MISFIRE_MISSING": "E003"}
_TIMETABLE = {
    *WHEN,
    "when",
    "timezone",
    "gap",
    "fold",
    "anchor",
    "from_",
    "month_end",
    "start",
    "end",
    "exclude",
}
_TIMETABLE |= {"jitter", "max_runs", "misfire_limit"}


def schedule_checks(app_configs: Any = None, **_: Any) -> list[checks.CheckMessage]:
    """Every fault of every declared schedule, in the order of their ids."""
    return list(faults(registry))


def faults(known: ScheduleRegistry) -> Iterator[checks.CheckMessage]:
    """The faults of what is declared there."""
    for declared in sorted(known.all(), key=lambda d: str(d.id)):
        for fault in definition.check(declared.spec):
            yield checks.Error(
                f"The schedule {declared.id!r} ({declared.place}): {fault.field}: {fault.message}",
                hint=fault.suggestion or None,
                id=f"{PREFIX}.{_number(fault)}",
            )
    for clash in known.clashes:
        yield checks.Error(clash.message, id=f"{PREFIX}.E004")


def _number(fault: Fault) -> str:
    """E001 unknown job type, E002 timetable, E003 no misfire policy, E004 declared twice, E005 any other field."""
    if fault.code in _NUMBERS:
        return _NUMBERS[fault.code]
    return "E002" if fault.field in _TIMETABLE else "E005"


checks.register(schedule_checks)
