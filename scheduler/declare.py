"""Declare a schedule in the ``schedules.py`` of an app.

``schedule("nightly-report", job="reports.daily", cron="30 2 * * *", timezone="Europe/Berlin", misfire="run_once")``
"""

from __future__ import annotations

import sys
from collections.abc import Iterable, Mapping
from contextlib import suppress
from datetime import date, datetime, timedelta
from types import FrameType
from typing import Any

from scheduler.errors import DuplicateSchedule
from scheduler.registry import Declared, registry
from scheduler.spec import ScheduleSpec
from tasks.spec import JobHandler


def schedule(
    id: str,  # noqa: A002
    *,
    job: str | JobHandler,
    app_id: str = "",
    cron: str | None = None,
    every: float | str | timedelta | None = None,
    months: int | None = None,
    at: datetime | str | None = None,
    manual: bool = False,
    timezone: str = "UTC",
    misfire: str = "",
    overlap: str = "",
    params: Mapping[str, Any] | None = None,
    description: str = "",
    gap: str = "",
    fold: str = "",
    anchor: datetime | str | None = None,
    from_: str = "",
    month_end: str = "",
    start: datetime | str | None = None,
    end: datetime | str | None = None,
    exclude: Iterable[date | str] = (),
    jitter: float | timedelta | None = None,
    max_runs: int | None = None,
    misfire_limit: int | None = None,
    catch_up_window: float | timedelta | None = None,
    catch_up_max: int | None = None,
    grace: float | timedelta | None = None,
    latest_start: float | timedelta | None = None,
    pause_after_failures: int | None = None,
    priority: int | str | None = None,
    queue: str | None = None,
    max_attempts: int | None = None,
    tenants: str | Iterable[str] | None = None,
    log_days: int | None = None,
    enabled: bool = True,
) -> ScheduleSpec:
    """Make a schedule known; the processes that plan store it when they start, or ``manage.py schedules sync`` does.

    Exactly one of ``cron``, ``every``, ``months``, ``at`` and ``manual`` says when; ``misfire`` has to be said unless
    it is manual. ``job``: a job type, as ``"video:scan"`` too, or its handler. Lengths are seconds or a timedelta;
    instants are datetimes or ISO text, a naive one is read in ``timezone``. ``enabled=False``: it begins paused.

    Nothing is raised here for what is wrong: ``manage.py check`` and ``manage.py schedules check`` tell every fault of
    every schedule, with its place, and a faulty one is not stored.
    """
    given = dict(locals())
    if not isinstance(job, str):
        given["job"], given["app_id"] = _handler_of(job, app_id)
    given["params"] = params if params is not None else {}
    spec = ScheduleSpec(**given)
    caller = sys._getframe(1)
    declared = Declared(spec, caller.f_globals.get("__name__", ""), _place_of(caller))
    with suppress(DuplicateSchedule):  # kept by the registry, told by the checks
        registry.register(declared)
    return spec


def _handler_of(job: JobHandler, app_id: str) -> tuple[Any, str]:
    spec = getattr(job, "spec", None)
    return (spec.job_type, app_id or spec.app_id) if spec is not None else (job, app_id)


def _place_of(frame: FrameType) -> str:
    return f"{frame.f_code.co_filename}:{frame.f_lineno}"
