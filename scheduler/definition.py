"""What a schedule may be: the one validator of every door, and the way between a wish, a row and its timetable."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import datetime, timedelta
from typing import Any

from jobsplatform.kernel import config
from jobsplatform.kernel.instants import unreadable
from scheduler import timetables
from scheduler.errors import ScheduleInvalid
from scheduler.fields import read_fields, shown
from scheduler.models import Schedule
from scheduler.policies import Policies
from scheduler.spec import CONFIG_KEYS, WHEN, Fault, ScheduleSpec, config_of, when_of
from scheduler.states import Audience, Misfire, TriggerType
from scheduler.timetables.base import Timetable
from scheduler.timetables.errors import TimetableError

__all__ = [
    "RULE",
    "Fault",
    "ScheduleSpec",
    "check",
    "columns",
    "policies_of",
    "read",
    "timetable_of",
]

RULE = (
    "trigger_type",
    "trigger_config",
    "timezone",
    "misfire",
    "misfire_grace_seconds",
    "catch_up_window_seconds",
    "catch_up_max",
)
"""Columns that decide which slots there are and what becomes of late ones: changing one begins a new rule."""


def check(spec: ScheduleSpec) -> list[Fault]:
    """Everything that is wrong with ``spec``, in the order of its fields; empty when it can be stored.

    The same for code, form, command line and import. Never raises for what somebody may write.
    """
    return _read(spec)[1]


def columns(spec: ScheduleSpec, *, now: datetime, standing: Schedule | None = None) -> dict[str, Any]:
    """The columns of the row that ``spec`` wants, normalised.

    An interval that names no anchor keeps that of the ``standing`` row, so that an edit does not move its phase; a
    new one starts at ``now``, on its whole second. Raises ScheduleInvalid with every fault.
    """
    wanted, faults = _read(spec)
    if faults:
        raise ScheduleInvalid(shown(spec.id), faults)
    stored = wanted["trigger_config"]
    if wanted["trigger_type"] == TriggerType.INTERVAL and "anchor" not in stored and "from" not in stored:
        kept = (
            standing.trigger_config.get("anchor")
            if standing is not None and standing.trigger_type == TriggerType.INTERVAL
            else None
        )
        wanted["trigger_config"] = timetables.normalise(
            TriggerType.INTERVAL,
            {**stored, "anchor": kept or now.replace(microsecond=0).isoformat()},
            wanted["timezone"],
        )
    return wanted


def _read(spec: ScheduleSpec) -> tuple[dict[str, Any], list[Fault]]:
    reading = read_fields(spec)
    try:
        reading.columns |= _timetable(spec, str(reading.columns.get("id", "")))
    except _Refused as refused:
        reading.faults.insert(0, refused.fault)
    return reading.columns, reading.faults


class _Refused(Exception):
    def __init__(self, fault: Fault) -> None:
        super().__init__(str(fault))
        self.fault = fault


def _timetable(spec: ScheduleSpec, schedule_id: str) -> Mapping[str, Any]:
    given = when_of(spec)
    known = ", ".join(WHEN)
    if len(given) != 1:
        said = f"{' and '.join(given)} are given together" if given else "nothing says when it runs"
        raise _Refused(Fault("when", "WHEN", f"{said}.", f"Give exactly one of {known}.", ", ".join(given)))
    when = given[0]
    kind = WHEN[when]
    try:
        wanted = config_of(spec, when)
        stored = timetables.normalise(kind, wanted, spec.timezone)
        timetables.build(kind, stored, spec.timezone, schedule_id=schedule_id)
    except TimetableError as error:
        raise _Refused(_fault_of(error, when)) from None
    except (TypeError, ValueError, OverflowError) as error:
        # A value of a type that nobody expects in this place.
        raise _Refused(
            Fault(when, "WHEN", f"cannot be read ({error}).", "", shown(getattr(spec, when)))
        ) from None
    zone = timetables.zone(spec.timezone).key
    return {"trigger_type": str(kind), "trigger_config": stored, "timezone": zone}


_FIELDS = {key: name for name, key in CONFIG_KEYS.items()}


def _fault_of(error: TimetableError, when: str) -> Fault:
    """The fault of the field of the form; a part of a cron line is named in the message."""
    field = _FIELDS.get(error.field, error.field)
    if field == "timezone" or field in CONFIG_KEYS or field in WHEN:
        return Fault(field, error.code, error.message, error.suggestion, error.read)
    return Fault(when, error.code, f"{error.field}: {error.message}", error.suggestion, error.read)


# -- from the row ------------------------------------------------------------------------------------


def read(schedule: Schedule) -> ScheduleSpec:
    """The wish that a row stands for; ``check`` of it finds nothing, unless the world has changed since (its job type
    is gone, its zone, …) or the row was written past us."""
    stored = dict(schedule.trigger_config) if isinstance(schedule.trigger_config, Mapping) else {}
    when = _when_of_row(schedule, stored)
    values: dict[str, Any] = {name: stored[key] for name, key in CONFIG_KEYS.items() if key in stored}
    values[when] = True if when == "manual" else stored.get(when)
    return ScheduleSpec(
        id=schedule.id,
        job=schedule.job_type,
        app_id=schedule.app_id,
        description=schedule.description,
        params=schedule.params,
        timezone=schedule.timezone,
        misfire=schedule.misfire,
        grace=schedule.misfire_grace_seconds,
        catch_up_window=schedule.catch_up_window_seconds,
        catch_up_max=schedule.catch_up_max,
        overlap=schedule.overlap,
        latest_start=schedule.latest_start_seconds,
        pause_after_failures=schedule.pause_after_failures,
        priority=schedule.priority,
        queue=schedule.queue or None,
        max_attempts=schedule.max_attempts,
        tenants=_tenants_of(schedule),
        log_days=schedule.log_days,
        **values,
    )


def _when_of_row(schedule: Schedule, stored: Mapping[str, Any]) -> str:
    names = [name for name, kind in WHEN.items() if kind == schedule.trigger_type]
    return next((name for name in names if name in stored), names[0] if names else "cron")


def _tenants_of(schedule: Schedule) -> str | list[str] | None:
    if schedule.audience == Audience.GLOBAL:
        return None
    return "*" if schedule.audience == Audience.EVERY else list(schedule.tenants)


def timetable_of(schedule: Schedule, tenant_id: str = "") -> Timetable:
    """When the schedule runs. Raises TimetableError for a row whose rule cannot be (any more)."""
    return timetables.build(
        schedule.trigger_type,
        schedule.trigger_config,
        schedule.timezone,
        schedule_id=schedule.id,
        tenant_id=tenant_id,
    )


def policies_of(schedule: Schedule) -> Policies:
    """What becomes of its late slots; what the row leaves out is the platform's setting.

    Raises TimetableError for a corrupt row.
    """
    if schedule.audience == Audience.NAMED and not isinstance(schedule.tenants, list):
        raise TimetableError(
            "TENANTS", "tenants", "", f"expected a list of ids, got {shown(schedule.tenants)}."
        )
    if unreadable(schedule.edited_at):
        raise TimetableError("INSTANT", "edited_at", "", "no timestamp that can be read.")
    settings = config.get().scheduler
    max_runs, limit = timetables.limits(schedule.trigger_config)
    try:
        misfire = Misfire(schedule.misfire)
    except ValueError:
        raise TimetableError(
            "MISFIRE", "misfire", str(schedule.misfire), f"unknown policy {schedule.misfire!r}."
        ) from None
    return Policies(
        misfire=misfire,
        grace=_length(schedule, "misfire_grace_seconds", settings.misfire_grace_seconds),
        misfire_limit=limit or settings.misfire_limit,
        catch_up_window=_length(schedule, "catch_up_window_seconds", settings.catch_up_window_seconds),
        catch_up_max=schedule.catch_up_max,
        max_runs=max_runs,
    )


def _length(schedule: Schedule, name: str, default: float) -> timedelta:
    value = getattr(schedule, name)
    try:
        length = timedelta(seconds=default if value is None else value)
    except (OverflowError, TypeError, ValueError):
        length = timedelta(-1)
    if length < timedelta(0):
        raise TimetableError(
            "CONFIG_NUMBER",
            name,
            str(value),
            f"{shown(value)} is no length of time.",
            "Write seconds, at least 0.",
        )
    return length
