"""Schedules of the platform that is cranked by hand."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping
from datetime import datetime
from typing import Any

from jobsplatform.kernel import clock
from scheduler import cursors, planner, timetables
from scheduler.models import Schedule, ScheduleState, ScheduleTriggerLog
from scheduler.requests import ScheduleTriggerResult
from scheduler.states import Audience, Misfire, TriggerType

_WHEN = {
    "cron": TriggerType.CRON,
    "every": TriggerType.INTERVAL,
    "months": TriggerType.INTERVAL,
    "at": TriggerType.DATE,
}


class Schedules(ABC):
    """``schedule`` makes one, ``plan`` is what a scheduler does now, ``ledger`` what was decided."""

    def schedule(
        self,
        job: Any,
        *,
        id: str = "test",  # noqa: A002
        timezone: str = "UTC",
        misfire: str = Misfire.RUN_ONCE,
        tenants: str | list[str] | None = None,
        config: Mapping[str, Any] | None = None,
        now: datetime | None = None,
        **fields: Any,
    ) -> Schedule:
        """A schedule of ``job`` (a handler or its name), planned from now on. When: ``cron``, ``every``, ``months`` or
        ``at``, else by hand only; ``config``: the rest of its timetable; ``fields``: columns of the row."""
        now = now or clock.now()
        if not isinstance(job, str):
            fields.setdefault("app_id", job.spec.app_id)
            job = job.spec.job_type
        given = {name: fields.pop(name) for name in _WHEN if name in fields}
        kind = next((_WHEN[name] for name in given), TriggerType.MANUAL)
        wanted = {**given, **(config or {})}
        if kind is TriggerType.INTERVAL:
            wanted.setdefault("anchor", now.replace(microsecond=0).isoformat())
        row = Schedule.objects.create(
            id=id,
            job_type=job,
            trigger_type=kind,
            trigger_config=timetables.normalise(kind, wanted, timezone),
            timezone=timezone,
            misfire=misfire,
            audience=_audience(tenants),
            tenants=tenants if isinstance(tenants, list) else [],
            created_at=now,
            edited_at=now,
            updated_at=now,
            **fields,
        )
        cursors.applied([row.pk])
        cursors.ensure(row, now)
        return row

    def plan(self, **options: Any) -> list[ScheduleTriggerResult]:
        """Rounds of the planner until nothing more is due; what they decided. ``options`` are those of
        ``planner.step``."""
        results: list[ScheduleTriggerResult] = []
        while True:
            done = planner.step(clock.now(), **options)
            results += done.results
            if not done.more:
                return results

    def plan_at(self, instant: datetime, **options: Any) -> list[ScheduleTriggerResult]:
        """Turn the clock to ``instant``, and plan."""
        seconds = (instant - clock.now()).total_seconds()
        self.advance(seconds)
        return self.plan(**options)

    @abstractmethod
    def advance(self, seconds: float) -> None:
        """Turn the clock."""

    def ledger(self, schedule_id: str = "test", tenant_id: str = "") -> list[ScheduleTriggerLog]:
        """The decisions about a schedule's slots, in their order."""
        rows = ScheduleTriggerLog.objects.filter(schedule_id=schedule_id, tenant_id=tenant_id)
        return list(rows.order_by("planned_at", "triggered_at", "id"))

    def cursor(self, schedule_id: str = "test", tenant_id: str = "") -> ScheduleState:
        """How far a schedule is decided."""
        return ScheduleState.objects.get(schedule_id=schedule_id, tenant_id=tenant_id)


def _audience(tenants: str | list[str] | None) -> Audience:
    if tenants is None:
        return Audience.GLOBAL
    return Audience.EVERY if tenants == "*" else Audience.NAMED
