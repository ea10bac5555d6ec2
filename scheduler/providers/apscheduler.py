"""APScheduler 3 as the one that ticks: optional. Its entries make our planner look, as every other hint does."""

from __future__ import annotations

import logging
import threading
from collections.abc import Callable
from datetime import UTC, datetime
from importlib import import_module
from typing import Any

from jobsplatform.kernel import clock, config
from jobsplatform.kernel.bell import Bell
from jobsplatform.kernel.errors import InvalidInput
from scheduler import wakeups
from scheduler.export import PlannedSchedule, exported
from scheduler.providers.base import OnRound, RunReport, ignore
from scheduler.providers.local import LocalScheduleProvider
from scheduler.providers.loop import SchedulerLoop
from scheduler.requests import StepResult

MISSING = "APScheduler is not installed: pip install 'jobsplatform[apscheduler]' (APScheduler 3.11)."
CHATTY = ("apscheduler.executors.default", "apscheduler.scheduler")


class ApSchedulerScheduleProvider(LocalScheduleProvider):
    """A ``BackgroundScheduler`` with an entry for each schedule, which wakes our loop at its slots.

    The loop plans, as always from the rows, and keeps the entries in step with them. Raises InvalidInput where
    APScheduler 3 is not installed.
    """

    name = "apscheduler"

    def __init__(self, chain: Any) -> None:
        super().__init__(chain)
        self._parts = _Parts()

    def run(
        self,
        *,
        bell: Bell,
        max_iterations: int | None = None,
        instance_id: str = "",
        on_round: OnRound = ignore,
    ) -> RunReport:
        background = self._parts.background()
        self._entries = entries = Entries(background, self._parts.trigger)
        edited = wakeups.Listener(entries.edited)

        def round_made(step: StepResult) -> None:
            entries.keep()
            on_round(step)

        background.start()
        edited.start()
        try:
            return super().run(
                bell=bell, max_iterations=max_iterations, instance_id=instance_id, on_round=round_made
            )
        finally:
            edited.stop()
            background.shutdown(wait=False)

    def made(self, loop: SchedulerLoop) -> None:
        self._entries.wake = loop.wake


class Entries:
    """An APScheduler job for each schedule. ``keep`` is called by the loop that they wake; ``edited`` by any thread."""

    def __init__(self, background: Any, trigger: Callable[[PlannedSchedule], Any]) -> None:
        self._background = background
        self._trigger = trigger
        self.wake: Callable[[], None] = lambda: None
        self._known: dict[str, PlannedSchedule] = {}
        self._edited = threading.Event()
        self._read_at: float | None = None

    def edited(self) -> None:
        """A row has changed."""
        self._edited.set()

    def keep(self) -> None:
        """After an edit, and every SCHEDULER__POLL_SECONDS: add, replace and remove what changed."""
        at = clock.monotonic()
        due = self._read_at is None or at - self._read_at >= config.get().scheduler.poll_seconds
        if not due and not self._edited.is_set():
            return
        self._edited.clear()
        wanted = {
            row.pk: PlannedSchedule(row.trigger_type, row.trigger_config, row.timezone, row.pk)
            for row in exported()
        }
        for gone in self._known.keys() - wanted.keys():
            self._background.remove_job(gone)
        for schedule_id, rule in wanted.items():
            if self._known.get(schedule_id) != rule:
                self._add(schedule_id, rule)
        self._known, self._read_at = wanted, at

    def _add(self, schedule_id: str, rule: PlannedSchedule) -> None:
        self._background.add_job(
            self.wake,
            self._trigger(rule),
            id=schedule_id,
            name=schedule_id,
            replace_existing=True,
            coalesce=True,
            max_instances=1,
            misfire_grace_time=None,
        )


class _Parts:
    """What we need of APScheduler, loaded when it is asked for."""

    def __init__(self) -> None:
        try:
            background = import_module("apscheduler.schedulers.background")
            base = import_module("apscheduler.triggers.base")
        except ImportError:
            raise InvalidInput(MISSING) from None
        self._background = background.BackgroundScheduler

        class Trigger(base.BaseTrigger):  # type: ignore[name-defined]
            """Fires at our slots."""

            def __init__(self, rule: PlannedSchedule) -> None:
                self.rule = rule

            def get_next_fire_time(self, previous: datetime | None, now: datetime) -> datetime | None:
                return self.rule.next_after((previous or now).astimezone(UTC))

        self.trigger: Callable[[PlannedSchedule], Any] = Trigger

    def background(self) -> Any:
        # A line that an entry ran and one that it is done, beside what was decided.
        for chatty in CHATTY:
            logging.getLogger(chatty).setLevel(logging.WARNING)
        return self._background(timezone=UTC, daemon=True)
