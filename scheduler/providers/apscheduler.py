"""APScheduler 3 as the one that ticks: optional. Its entries make our planner look, as every other hint does."""

from __future__ import annotations

import logging
from collections.abc import Callable
from datetime import UTC, datetime
from importlib import import_module
from typing import Any

import structlog

from jobsplatform.kernel import clock, config, db
from jobsplatform.kernel.bell import Bell
from jobsplatform.kernel.errors import InvalidInput
from jobsplatform.kernel.presence import Presence
from scheduler import bridge, wakeups
from scheduler.export import PlannedSchedule, exported
from scheduler.providers.base import Chained, OnRound, RunReport, Triggering, ignore
from scheduler.providers.loop import SchedulerLoop
from scheduler.requests import StepResult

log = structlog.get_logger("jobsplatform.scheduler")

MISSING = "APScheduler is not installed: pip install 'jobsplatform[apscheduler]' (APScheduler 3.11)."
ROUND = "jobsplatform: round"
REREAD = "jobsplatform: reread"
THREADS = 4


class ApSchedulerScheduleProvider(Chained):
    """A ``BackgroundScheduler`` with an entry for each schedule, and one that makes a round of our loop every idle
    sleep: chores, and what an entry missed. Raises InvalidInput where APScheduler 3 is not installed."""

    name = "apscheduler"

    def __init__(self, chain: Triggering) -> None:
        super().__init__(chain)
        _parts()

    def run(
        self,
        *,
        bell: Bell,
        max_iterations: int | None = None,
        instance_id: str = "",
        on_round: OnRound = ignore,
    ) -> RunReport:
        report = RunReport()

        def count(step: StepResult) -> None:
            report.add(step)
            on_round(step)
            if max_iterations is not None and report.iterations >= max_iterations:
                bell.ring()

        loop = SchedulerLoop(instance=instance_id, on_round=count, rounds=max_iterations)
        report.instance_id = loop.instance
        scheduler = _parts().background()
        presence = Presence("scheduler", works=lambda: not loop.stands)
        entries = Entries(scheduler, loop.instance)
        settings = config.get().scheduler
        _every(scheduler, ROUND, settings.idle_sleep_seconds, lambda: _rounds(loop))
        _every(scheduler, REREAD, settings.poll_seconds, entries.read)
        edited = wakeups.Listener(lambda: _now(scheduler))
        presence.start()
        scheduler.start()
        edited.start()
        try:
            bell.wait(None)
        finally:
            presence.stop(0)
            edited.stop()
            scheduler.shutdown(wait=False)
            loop.turn.give_back()
            presence.stop(0.5)
        return report


class Entries:
    """An APScheduler job for each schedule, kept in step with the rows."""

    def __init__(self, scheduler: Any, instance: str) -> None:
        self._scheduler = scheduler
        self._instance = instance
        self._known: dict[str, PlannedSchedule] = {}

    def read(self) -> None:
        """Add, replace and remove what changed since the last time."""
        with _tidy("reading the schedules"):
            wanted = {
                row.pk: PlannedSchedule(row.trigger_type, row.trigger_config, row.timezone, row.pk)
                for row in exported()
            }
            for gone in self._known.keys() - wanted.keys():
                self._scheduler.remove_job(gone)
            for schedule_id, rule in wanted.items():
                if self._known.get(schedule_id) != rule:
                    self._scheduler.add_job(
                        self._plan,
                        _parts().trigger(rule),
                        args=[schedule_id],
                        id=schedule_id,
                        name=schedule_id,
                        replace_existing=True,
                        coalesce=True,
                        max_instances=1,
                        misfire_grace_time=None,
                    )
            self._known = wanted

    def _plan(self, schedule_id: str) -> None:
        with _tidy(f"planning {schedule_id}"):
            bridge.plan(schedule_id, "", instance=self._instance)


class _tidy:  # noqa: N801 (it reads as a verb)
    """Around what runs in a thread of APScheduler's pool: an error is one line, and no connection is left behind."""

    def __init__(self, what: str) -> None:
        self._what = what

    def __enter__(self) -> None:
        db.close_stale()

    def __exit__(self, kind: Any, error: BaseException | None, trace: Any) -> bool:
        db.close_broken()
        if isinstance(error, Exception):
            log.error("scheduler.apscheduler", text=f"{self._what} failed: {type(error).__name__}: {error}")
            return True
        return False


class _Parts:
    """What we need of APScheduler, loaded when it is asked for."""

    def __init__(self) -> None:
        try:
            background = import_module("apscheduler.schedulers.background")
            pools = import_module("apscheduler.executors.pool")
            base = import_module("apscheduler.triggers.base")
        except ImportError:
            raise InvalidInput(MISSING) from None
        self._background = background.BackgroundScheduler
        self._pool = pools.ThreadPoolExecutor

        class Trigger(base.BaseTrigger):  # type: ignore[name-defined]
            """Fires at our slots."""

            def __init__(self, rule: PlannedSchedule) -> None:
                self.rule = rule

            def get_next_fire_time(self, previous: datetime | None, now: datetime) -> datetime | None:
                after = now.astimezone(UTC) if previous is None else previous.astimezone(UTC)
                return self.rule._next(after)

        self.trigger: Callable[[PlannedSchedule], Any] = Trigger

    def background(self) -> Any:
        # A line that an entry ran and one that it is done, beside what was decided.
        for chatty in ("apscheduler.executors.default", "apscheduler.scheduler"):
            logging.getLogger(chatty).setLevel(logging.WARNING)
        return self._background(timezone=UTC, executors={"default": self._pool(THREADS)}, daemon=True)


_loaded: list[_Parts] = []


def _parts() -> _Parts:
    if not _loaded:
        _loaded.append(_Parts())
    return _loaded[0]


def _every(scheduler: Any, name: str, seconds: float, work: Callable[[], None]) -> None:
    scheduler.add_job(
        work,
        "interval",
        seconds=seconds,
        id=name,
        name=name,
        coalesce=True,
        max_instances=1,
        misfire_grace_time=None,
        next_run_time=clock.SystemClock().now(),
    )


def _now(scheduler: Any) -> None:
    """A schedule was edited: make a round and read the rows now."""
    for name in (ROUND, REREAD):
        scheduler.modify_job(name, next_run_time=clock.SystemClock().now())


def _rounds(loop: SchedulerLoop) -> None:
    """Rounds until there is nothing to do at once."""
    while not loop.stopping and loop.round() == 0.0:
        pass
