"""``celery -A jobsplatform beat -S scheduler.beat:PlatformScheduler``: any number of them.

A beat asks the database for the next due slot and sends one hint a batch to the workers, who plan
(``scheduler.bridge``); its cost does not grow with the number of schedules. Hints that nobody takes within a second,
because there is no broker or no free worker, cost that second: the beat plans by itself then. Rows of
``django-celery-beat`` go on beside it (``scheduler.foreign``).
"""

from __future__ import annotations

from datetime import datetime
from typing import Any, Protocol, runtime_checkable

import structlog
from celery import Celery
from celery.beat import Scheduler
from celery.utils.imports import symbol_by_name
from django.apps import apps

from jobsplatform.kernel import clock, config, db
from jobsplatform.kernel.loop import Loop
from jobsplatform.kernel.presence import Presence
from scheduler import cursors, planner, wakeups
from scheduler.models import ScheduleState
from scheduler.providers import chores
from scheduler.providers.loop import SHORTEST_SLEEP_SECONDS, instance_name
from scheduler.sending import Hints
from scheduler.turns import Standing, Turn
from scheduler.watched import Watched

log = structlog.get_logger("jobsplatform.scheduler")

LOCK = "scheduler:beat"
ROW_LOOP = "scheduler.foreign:RowLoop"  # by name: it cannot be loaded where that app is not installed

ANSWER_SECONDS = 1.0
"""Slots that are still due so long after a hint are planned here."""

LOOK_SECONDS = 0.1
"""How often it is seen whether a hint was answered."""

MOST_HINTS = 4
"""For one instant: each makes one more worker plan."""

STOP_SECONDS = 3.5
TICK_SECONDS = 1.0


@runtime_checkable
class Ticking(Protocol):
    """A loop that may have the turn."""

    turn: Turn


class BeatLoop(Watched):
    """Hints at due slots. Of several beats one has the turn; the others look whether slots are left lying."""

    name = "beat"

    def __init__(self, app: Celery, instance: str) -> None:
        super().__init__()
        self.instance = instance
        self.turn = Turn(LOCK, instance)
        self._hints = Hints(app)
        self._chores = chores.all_of_them()
        self._listener = wakeups.Listener(self.wake)
        self._hinted_at: float | None = None
        self._hinted_for: datetime | None = None
        self._sleep = 0.0

    def run(self) -> None:
        self._listener.start()
        try:
            super().run()
        finally:
            self.turn.give_back()
            self._hints.close()
            self._listener.stop()
            db.close_connections()

    def step(self) -> bool:
        clock.current().sync()
        now = clock.now()
        self._sleep = config.get().scheduler.idle_sleep_seconds
        standing = self.turn.look()
        more = self._see_to(cursors.next_due(), now, standing)
        if standing is Standing.OTHERS:
            return more
        return self._chores.round(now) or more

    def wait_seconds(self) -> float:
        return self._sleep

    def _see_to(self, due: datetime | None, now: datetime, standing: Standing) -> bool:
        """Hint, plan, or wait; whether there is more to plan here at once."""
        if due is None:
            return False
        ours_at = due + self.turn.patience(standing)
        if ours_at > now:
            self._sleep = min(self._sleep, max(SHORTEST_SLEEP_SECONDS, (ours_at - now).total_seconds()))
            return False
        at = clock.monotonic()
        if self._hinted_at is not None and at - self._hinted_at < ANSWER_SECONDS:
            if due == self._hinted_for:
                self._sleep = LOOK_SECONDS
                return False
        elif self._hinted_at is not None and due == self._hinted_for:
            self._hints.nobody_answers()
        if self._hints.send(self._count(now)):
            self._hinted_at, self._hinted_for = at, due
            self._sleep = LOOK_SECONDS
            return False
        self._hinted_at = self._hinted_for = None
        result = planner.step(now, instance=self.instance)
        if result.next_due_at is not None:
            left = (result.next_due_at - clock.now()).total_seconds()
            self._sleep = min(self._sleep, max(SHORTEST_SLEEP_SECONDS, left))
        return result.more

    def _count(self, now: datetime) -> int:
        """How many workers are of use: one a batch of what is due, counted no further than needed."""
        batch = config.get().scheduler.batch
        due = ScheduleState.objects.filter(next_due_at__lte=now).order_by()[: batch * (MOST_HINTS - 1) + 1]
        return max(1, min(MOST_HINTS, -(-due.count() // batch)))


class PlatformScheduler(Scheduler):
    """What Celery's beat program runs. It has no entries: all it does happens in threads of its own, so that a signal,
    which Celery handles in the main thread, never meets a statement half-way."""

    max_interval = TICK_SECONDS

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        self._loops: list[Loop] = []
        super().__init__(*args, **kwargs)

    def setup_schedule(self) -> None:
        """Nothing to read: due slots are asked for, one at a time."""

    def tick(self, *args: Any, **kwargs: Any) -> float:
        """Seconds until Celery looks again whether it is to end. Ends the program when the loop hangs: whoever keeps
        it running starts it again."""
        if not self._loops:
            self._start()
        beat = self._loops[0]
        if isinstance(beat, Watched) and beat.stands:
            log.critical(
                "beat.stands", text="no round has ended for long: this beat ends, to be started again"
            )
            raise SystemExit(1)
        return TICK_SECONDS

    def close(self) -> None:
        """End the threads and give the locks back; within five seconds, whatever hangs. Twice is once."""
        loops, self._loops = self._loops, []
        for loop in loops:
            loop.stop(0)
        until = clock.monotonic() + STOP_SECONDS
        for loop in loops:
            if not loop.stop(max(0.0, until - clock.monotonic())) and isinstance(loop, Ticking):
                loop.turn.give_back()  # it hangs, and ends with the process
        super().close()

    @property
    def info(self) -> str:
        return "    . schedules -> the platform's own, and django-celery-beat's rows beside them"

    def _start(self) -> None:
        instance = instance_name()
        beat = BeatLoop(self.app, instance)
        self._loops = [beat, Presence("beat", works=lambda: not beat.stands)]
        if apps.is_installed("django_celery_beat"):
            self._loops.append(symbol_by_name(ROW_LOOP)(self.app, instance))
        for loop in self._loops:
            loop.start()
