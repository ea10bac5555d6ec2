"""The loop that plans: due slots first, then its chores; it sleeps until the next slot or an edit."""

from __future__ import annotations

import socket
from collections.abc import Callable
from datetime import datetime

from jobsplatform.kernel import clock, config, db
from jobsplatform.kernel.ids import uuid7
from scheduler import cursors, planner, wakeups
from scheduler.providers import chores
from scheduler.providers.base import OnRound
from scheduler.requests import StepResult
from scheduler.turns import Standing, Turn
from scheduler.watched import Watched

LOCK = "scheduler:loop"

SHORTEST_SLEEP_SECONDS = 0.02
"""Due slots that somebody else is at: they are looked at again no sooner."""

NOTHING = StepResult()


def instance_name(given: str = "") -> str:
    """The name by which decisions say who made them: as given, or host and a random part."""
    return given or f"{socket.gethostname()}-{uuid7().hex[-8:]}"


class SchedulerLoop(Watched):
    """``planner.step`` until no slot is due, again at the next one, at an edit, or after
    ``SCHEDULER__IDLE_SLEEP_SECONDS``. All waiting is by monotonic time: a wall clock that is set back silences nothing.

    Of several loops one has the turn (``scheduler.turns``). ``rounds``: end after so many, whoever has the turn.
    """

    name = "scheduler"

    def __init__(
        self,
        *,
        instance: str = "",
        on_round: OnRound = lambda result: None,
        rounds: int | None = None,
        on_end: Callable[[], None] = lambda: None,
    ) -> None:
        super().__init__()
        self.instance = instance_name(instance)
        self.turn = Turn(LOCK, self.instance)
        self._on_round = on_round
        self._on_end = on_end
        self._rounds_left = rounds
        self._by_hand = rounds is not None
        self._chores = chores.all_of_them()
        self._listener = wakeups.Listener(self.wake)
        self._sleep = 0.0

    def run(self) -> None:
        self._listener.start()
        try:
            super().run()
        finally:
            self.turn.give_back()
            self._listener.stop()
            db.close_connections()
            self._on_end()

    def step(self) -> bool:
        clock.current().sync()
        now = clock.now()
        self._sleep = config.get().scheduler.idle_sleep_seconds
        standing = Standing.MINE if self._by_hand else self.turn.look()
        result = self._plan(now, standing)
        more = standing is not Standing.OTHERS and self._chores.round(now)
        self._on_round(result)
        return self._go_on(result.more or more)

    def wait_seconds(self) -> float:
        return self._sleep

    def _plan(self, now: datetime, standing: Standing) -> StepResult:
        if standing is not Standing.MINE:
            due = cursors.next_due()
            if due is None or due > now - self.turn.patience(standing):
                return NOTHING
        result = planner.step(now, instance=self.instance)
        if result.next_due_at is not None and standing is Standing.MINE:
            left = (result.next_due_at - clock.now()).total_seconds()
            self._sleep = min(self._sleep, max(SHORTEST_SLEEP_SECONDS, left))
        return result

    def _go_on(self, more: bool) -> bool:
        if self._rounds_left is not None:
            self._rounds_left -= 1
            if self._rounds_left <= 0:
                self._stopping.set()
        return more
