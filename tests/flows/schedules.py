"""Schedules and beats for tests on real processes."""

from __future__ import annotations

import signal
import sys
from collections.abc import Callable, Sequence
from datetime import datetime
from pathlib import Path
from typing import Any

from jobsplatform.kernel import clock
from jobsplatform.kernel.audit import Actor
from jobsplatform.kernel.models import Process
from scheduler import control, cursors
from scheduler.models import Schedule, ScheduleTriggerLog
from scheduler.spec import ScheduleSpec
from tests.flows.processes import Command, until

ACTOR = Actor.system("test")
OURS = "scheduler.beat:PlatformScheduler"
ROWS = "django_celery_beat.schedulers:DatabaseScheduler"

Start = Callable[..., Any]


class Beat(Command):
    """Celery's beat program."""

    def __init__(
        self, log: Path, environment: dict[str, str], arguments: Sequence[str] = ("-S", OURS), app: str = ""
    ) -> None:
        command = [sys.executable, "-m", "celery", "-A", app or "jobsplatform", "beat"]
        super().__init__(log, environment, [*command, "--loglevel", "INFO", *arguments])

    def wait_ready(self) -> None:
        """Until it has its row. Raises AssertionError with its last words when it ended."""
        until(lambda: self.alive or self.process.poll() is not None)
        assert self.process.poll() is None, self.output[-3000:]

    @property
    def alive(self) -> bool:
        return Process.objects.filter(pid=self.pid, role="beat", stopped_at=None, lost_at=None).exists()

    def stand(self) -> None:
        self.send(signal.SIGSTOP)

    def go_on(self) -> None:
        self.send(signal.SIGCONT)


def create(name: str, **rule: Any) -> Schedule:
    """A schedule of ``flow.add``."""
    spec = {"job": "flow.add", "params": {"a": 1, "b": 1}, "misfire": "run_once", **rule}
    return control.create(ScheduleSpec(id=name, **spec), actor=ACTOR, now=clock.now())


def create_alike(names: list[str], **rule: Any) -> None:
    """Many schedules with one rule, in a moment: what takes longer would begin after their first slot."""
    model = create(names[0], **rule)
    now = clock.now()
    rows = [Schedule(**{**values_of(model), "id": name}) for name in names[1:]]
    Schedule.objects.bulk_create(rows)
    for row in rows:
        cursors.ensure(row, now)


def values_of(row: Schedule) -> dict[str, Any]:
    """The columns of a row as it is stored."""
    return dict(Schedule.objects.filter(pk=row.pk).values().get())


def decided(name: str) -> list[tuple[datetime, str]]:
    """The slots on record, in order, and what was decided."""
    rows = ScheduleTriggerLog.objects.filter(schedule_id=name).order_by("planned_at")
    return list(rows.values_list("planned_at", "status"))


def clear() -> None:
    """Take all schedules away: workers of later tests must find nothing to plan."""
    Schedule.objects.all().delete()
