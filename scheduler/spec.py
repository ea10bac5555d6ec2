"""A schedule as somebody wants it, before it is looked at; and what is wrong with it."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from datetime import date, datetime, timedelta
from typing import Any

from scheduler.states import TriggerType


@dataclass(frozen=True, slots=True)
class Fault:
    """``field`` is a name of ScheduleSpec; ``code`` is stable; ``read`` is what stood there, ``suggestion`` what to
    write instead (may be empty)."""

    field: str
    code: str
    message: str
    suggestion: str = ""
    read: str = ""

    def __str__(self) -> str:
        return f"{self.field}: {self.message}" + (f" {self.suggestion}" if self.suggestion else "")


@dataclass(frozen=True, slots=True, kw_only=True)
class ScheduleSpec:
    """What a schedule should be; the same names as ``schedule(…)`` and the form. Nothing is looked at before
    ``definition.check``.

    Exactly one of ``cron``, ``every``, ``months``, ``at`` and ``manual`` says when. Lengths are seconds or a
    timedelta; None means the platform's setting. Instants are datetimes or ISO text; a naive one is read in
    ``timezone``. ``tenants``: None for one run for the whole host, ``"*"`` for every tenant, or their ids.
    """

    id: str
    job: str
    app_id: str = ""
    description: str = ""
    params: Mapping[str, Any] = field(default_factory=dict)

    cron: str | None = None
    every: float | str | timedelta | None = None
    months: int | None = None
    at: datetime | str | None = None
    manual: bool = False
    timezone: str = "UTC"

    gap: str = ""  # of cron
    fold: str = ""
    anchor: datetime | str | None = None  # of an interval
    from_: str = ""  # slot | last_end
    month_end: str = ""  # clamp | skip

    start: datetime | str | None = None
    end: datetime | str | None = None
    exclude: Iterable[date | str] = ()
    jitter: float | timedelta | None = None
    max_runs: int | None = None

    misfire: str = ""
    grace: float | timedelta | None = None
    misfire_limit: int | None = None
    catch_up_window: float | timedelta | None = None
    catch_up_max: int | None = None
    overlap: str = ""
    latest_start: float | timedelta | None = None
    pause_after_failures: int | None = None

    priority: int | str | None = None
    queue: str | None = None
    max_attempts: int | None = None
    tenants: str | Iterable[str] | None = None
    log_days: int | None = None
    enabled: bool = True  # of a new one; later it is paused and resumed


WHEN: Mapping[str, TriggerType] = {
    "cron": TriggerType.CRON,
    "every": TriggerType.INTERVAL,
    "months": TriggerType.INTERVAL,
    "at": TriggerType.DATE,
    "manual": TriggerType.MANUAL,
}
"""The fields that say when, of which exactly one is given."""

# Fields of a spec that belong to its timetable, and their names in ``trigger_config``.
CONFIG_KEYS: Mapping[str, str] = {
    "gap": "gap",
    "fold": "fold",
    "anchor": "anchor",
    "from_": "from",
    "month_end": "month_end",
    "start": "start",
    "end": "end",
    "exclude": "exclude",
    "jitter": "jitter_seconds",
    "max_runs": "max_runs",
    "misfire_limit": "misfire_limit",
}


def when_of(spec: ScheduleSpec) -> list[str]:
    """The fields of WHEN that are given; anything but one is a fault."""
    values = {name: getattr(spec, name) for name in WHEN}
    return [
        name for name, value in values.items() if value is not None and value is not False and value != ""
    ]


def config_of(spec: ScheduleSpec, when: str) -> dict[str, Any]:
    """``trigger_config`` as it was wanted, not looked at; what is left out is left out."""
    config: dict[str, Any] = {} if when == "manual" else {when: _plain(getattr(spec, when))}
    for name, key in CONFIG_KEYS.items():
        value = getattr(spec, name)
        if name == "exclude":
            value = [value] if isinstance(value, str) else [_plain(day) for day in value or ()]
        if value not in (None, "", []):
            config[key] = _plain(value)
    return config


def _plain(value: Any) -> Any:
    if isinstance(value, (datetime, date)):
        return value.isoformat()
    if isinstance(value, timedelta):
        seconds = value.total_seconds()
        return int(seconds) if seconds.is_integer() else seconds
    return value
