"""Every worker looks whether slots are left lying, so that workers alone suffice.

A slot that nobody decided ``SCHEDULER__SWEEP_AFTER_SECONDS`` after it was due is planned by a worker. While no
scheduler and no beat is alive, one of the workers does their chores too.
"""

from __future__ import annotations

import random
from datetime import datetime, timedelta
from typing import Any, ClassVar

from celery import bootsteps
from django.apps import apps

from jobsplatform.kernel import clock, config, db, processes
from jobsplatform.kernel.loop import Loop
from jobsplatform.kernel.models import Process
from scheduler import bridge, cursors, planner
from scheduler.providers import chores
from scheduler.providers.loop import instance_name
from scheduler.turns import Standing, Turn

LOCK = "scheduler:chores"

ALONE_LOOK_SECONDS = 10.0
"""How often it is seen whether a scheduler lives."""

STOP_SECONDS = 2.0

TASKS = (bridge.trigger,)
"""A worker of somebody's own Celery app knows the bridge by this import."""


class Sweeper(Loop):
    """Looks about once a second, at times of its own so that many workers do not all look together."""

    name = "schedule-sweeper"

    def __init__(self, instance: str) -> None:
        super().__init__()
        self.instance = instance_name(instance)
        self.turn = Turn(LOCK, self.instance)
        self._chores = chores.all_of_them()
        self._alone = False
        self._looked_at = clock.monotonic()  # one that starts together with us may not have its row yet

    def step(self) -> bool:
        now = clock.now()
        due = cursors.next_due()
        after = timedelta(seconds=config.get().scheduler.sweep_after_seconds)
        more = due is not None and due <= now - after and planner.step(now, instance=self.instance).more
        return self._do_chores(now) or more

    def wait_seconds(self) -> float:
        scheduler = config.get().scheduler
        return min(scheduler.idle_sleep_seconds, scheduler.sweep_after_seconds) * random.uniform(0.7, 1.3)

    def run(self) -> None:
        try:
            super().run()
        finally:
            self.turn.give_back()
            db.close_connections()

    def _do_chores(self, now: datetime) -> bool:
        at = clock.monotonic()
        if at - self._looked_at >= ALONE_LOOK_SECONDS:
            self._looked_at, self._alone = at, not schedulers(now).exists()
        if not self._alone:
            self.turn.give_back()
            return False
        return self.turn.look() is Standing.MINE and self._chores.round(now)


def schedulers(now: datetime) -> Any:
    """The rows of live schedulers and beats."""
    live = processes.live(now, config.get().tasks.lease_seconds)
    return live.filter(role__in=[Process.Role.SCHEDULER, Process.Role.BEAT])


class SweepStep(bootsteps.StartStopStep):
    """Runs the sweeper in a worker's main process, from the pool's start to its end."""

    label = "schedules"
    requires: ClassVar = {"celery.worker.components:Pool"}

    def __init__(self, parent: Any, **options: Any) -> None:
        super().__init__(parent, **options)
        self._sweeper: Sweeper | None = None

    def include_if(self, parent: Any) -> bool:
        return apps.is_installed("scheduler") and config.get().tasks.provider == "celery"

    def create(self, parent: Any) -> Any:
        self._sweeper = parent.jobsplatform_sweeper = Sweeper(f"sweep:{parent.hostname}")
        return self

    def start(self, parent: Any) -> None:
        assert self._sweeper is not None
        self._sweeper.start()

    def stop(self, parent: Any) -> None:
        if self._sweeper is not None:
            self._sweeper.stop(STOP_SECONDS)

    terminate = stop
