"""``django-celery-beat`` rows that are not ours, ticked beside our schedules, by one beat of any number.

Their own scheduler reads and sends them, with its guarantees and no more: a row that was due while the broker refused
it waits for its next time. What it adds here: of several beats one ticks, each row is claimed in the database before it
is sent, and rows are not left out by the hour they name.
"""

from __future__ import annotations

from datetime import timedelta
from typing import Any

import structlog
from celery import Celery
from django.db.models import F, Q, QuerySet
from django_celery_beat.models import PeriodicTask
from django_celery_beat.schedulers import DatabaseScheduler, ModelEntry

from jobsplatform.kernel import clock, db
from jobsplatform.kernel.locks import DatabaseLocks
from jobsplatform.kernel.loop import Loop
from scheduler.bridge import TASK_NAME
from scheduler.turns import Standing, Turn

log = structlog.get_logger("jobsplatform.scheduler")

LOCK = "scheduler:beat:rows"

LOOK_SECONDS = 1.0
"""How often changed rows are looked for, and whether it is our turn."""


FAR = timedelta(minutes=10)
"""A row for one instant that lies further ahead is not kept in mind; all rows are read again every five minutes."""


class RowEntry(ModelEntry):
    """A row that is claimed before it is sent."""

    def claim(self) -> bool:
        """Take this run of the row; False: another beat was faster, or the row was disabled or removed meanwhile."""
        return bool(
            PeriodicTask.objects.filter(
                pk=self.model.pk, enabled=True, total_run_count=self.total_run_count
            ).update(total_run_count=F("total_run_count") + 1, last_run_at=self._default_now())
        )


class RowScheduler(DatabaseScheduler):
    """``DatabaseScheduler`` over the rows that are not ours."""

    Entry = RowEntry

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        self._refused: set[str] = set()
        super().__init__(*args, **kwargs)

    def setup_schedule(self) -> None:
        """Entries of ``beat_schedule`` become rows, as they do without us; ours in it stay out."""
        if self.app.conf.result_backend:
            self.install_default_entries(self.schedule)
        theirs = {
            name: entry
            for name, entry in (self.app.conf.beat_schedule or {}).items()
            if dict(entry).get("task") != TASK_NAME
        }
        if theirs:
            self.update_from_dict(theirs)

    def enabled_models_qs(self) -> QuerySet[PeriodicTask]:
        # All of them: leaving out cron rows by their hour, as upstream does, loses a run that was due in an outage.
        far = Q(clocked__clocked_time__gt=clock.now() + FAR)
        return (
            self.Model.objects.enabled()
            .exclude(Q(task=TASK_NAME) | far)
            .select_related("interval", "crontab", "solar", "clocked")
        )

    def schedule_changed(self) -> bool:
        """Whether a row was changed since the last look; the very first change counts too, upstream it does not."""
        before = self._last_timestamp
        changed = super().schedule_changed()
        return bool(changed or (before is None and self._last_timestamp is not None))

    def reserve(self, entry: RowEntry) -> Any:
        """The entry as it is after this run. What was claimed is written already: nothing is left to be saved."""
        if not entry.claim():
            self._refused.add(entry.name)
            self.read_again()
        return next(entry)

    def apply_entry(self, entry: RowEntry, producer: Any = None) -> None:
        if entry.name in self._refused:
            self._refused.discard(entry.name)
            return
        super().apply_entry(entry, producer=producer)

    def read_again(self) -> None:
        """Read the rows at the next tick: others may have run them since."""
        self._initial_read = True
        self._heap_invalidated = True


class RowLoop(Loop):
    """Ticks the rows while it is our turn. While the broker is away it waits for it, apart from everything else."""

    name = "beat-rows"

    def __init__(self, app: Celery, owner: str) -> None:
        super().__init__()
        self._app = app
        # The rows are in the database, and so is their lock: it is there whenever they are.
        self.turn = Turn(LOCK, owner, DatabaseLocks())
        self._scheduler: RowScheduler | None = None
        self._sleep = LOOK_SECONDS
        self._mine = False

    def step(self) -> bool:
        self._sleep = LOOK_SECONDS
        mine = self.turn.look() is Standing.MINE
        if mine and not self._mine and self._scheduler is not None:
            self._scheduler.read_again()
        self._mine = mine
        if not mine:
            return False
        if self._scheduler is None:
            self._scheduler = RowScheduler(self._app)
        pause = self._scheduler.tick()
        self._sleep = min(LOOK_SECONDS, pause or 0.0)
        return self._sleep <= 0

    def wait_seconds(self) -> float:
        return self._sleep

    def run(self) -> None:
        try:
            super().run()
        finally:
            self.turn.give_back()
            db.close_connections()
