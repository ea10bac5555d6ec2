"""Making schedules and turning the clock, for tests of the scheduler's verbs."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Any

from jobsplatform.kernel import clock
from jobsplatform.kernel.audit import Actor
from jobsplatform.kernel.models import AuditEvent
from jobsplatform.testing.platform import HandPlatform
from scheduler import control, definition, planner
from scheduler.models import Schedule, ScheduleState, ScheduleTriggerLog
from scheduler.spec import ScheduleSpec
from tasks.models import Job

ACTOR = Actor("anna", "user")
JOB = "tests.work"

DAY = datetime(2026, 1, 1, tzinfo=UTC)
"""The hand platform's clock starts at noon of it."""


def at(hour: int, minute: int = 0, second: int = 0, *, day: int = 1) -> datetime:
    """A time of January 2026, UTC."""
    return datetime(2026, 1, day, hour, minute, second, tzinfo=UTC)


def spec(schedule_id: str = "s", **fields: Any) -> ScheduleSpec:
    """A wish for a schedule; every minute, skipping what is late, unless said otherwise."""
    given: dict[str, Any] = {"id": schedule_id, "job": JOB, "misfire": "skip", **fields}
    if not {"cron", "every", "months", "at", "manual"} & fields.keys():
        given["cron"] = "* * * * *"
    return ScheduleSpec(**given)


def create(schedule_id: str = "s", **fields: Any) -> Schedule:
    """Store it."""
    return control.create(spec(schedule_id, **fields), actor=ACTOR)


def edit(schedule_id: str = "s", **fields: Any) -> Schedule:
    """Store the same schedule with some fields changed."""
    row = Schedule.objects.get(id=schedule_id)
    wish = definition.read(row)
    names = {name: getattr(wish, name) for name in ScheduleSpec.__dataclass_fields__}
    if {"cron", "every", "months", "at", "manual"} & fields.keys():
        names |= {"cron": None, "every": None, "months": None, "at": None, "manual": False, "anchor": None}
    return control.update(
        schedule_id, ScheduleSpec(**{**names, **fields}), revision=row.revision, actor=ACTOR
    )


def tick() -> None:
    """Plan until nothing is left to plan."""
    while planner.step(clock.now()).more:
        pass


def turn(jobs: HandPlatform, to: datetime) -> None:
    """Turn the clock on to ``to``, planning at every second of the way at which something is due; workers beat."""
    while (due := planner.next_due()) is not None and due <= to:
        jobs.advance(max(0.0, (due - clock.now()).total_seconds()))
        tick()
        if planner.next_due() == due:  # everything is paused
            break
    jobs.advance((to - clock.now()).total_seconds())
    tick()


def state(schedule_id: str = "s", tenant_id: str = "") -> ScheduleState:
    """Its cursor."""
    return ScheduleState.objects.get(schedule_id=schedule_id, tenant_id=tenant_id)


def decided(schedule_id: str = "s") -> list[tuple[str, str, int]]:
    """Its decisions about slots in order: ``("12:01:00", "fired", 1)``."""
    rows = ScheduleTriggerLog.objects.filter(schedule_id=schedule_id, origin="auto").order_by("planned_at")
    return [(f"{row.planned_at:%H:%M:%S}", row.status, row.slot_count) for row in rows]


def fired(schedule_id: str = "s") -> list[str]:
    """The slots of its jobs in order."""
    rows = Job.objects.filter(schedule_id=schedule_id, planned_at__isnull=False).order_by("planned_at")
    return [f"{row.planned_at:%H:%M:%S}" for row in rows]


def audited(action: str) -> AuditEvent:
    """The one event of this action."""
    return AuditEvent.objects.get(action=action)
