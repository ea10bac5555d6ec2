"""Who decides slots in a history: loops that take turns, a worker that gets hints, and people."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from datetime import datetime
from unittest.mock import patch

from jobsplatform.kernel.errors import InvalidInput
from scheduler import bridge, control, cursors, definition, planner, trigger
from scheduler.errors import ScheduleTriggerConflict
from scheduler.models import Schedule, ScheduleState
from scheduler.requests import ScheduleTriggerRequest
from scheduler.states import PauseScope, ResumeRule
from scheduler.turns import Standing, Turn
from simulation.clock import VirtualClock
from simulation.locks import LockStore, Side
from simulation.plans import ACTOR, Planned

LOCK = "scheduler:loop"
MOST_ROUNDS = 500


class Machine:
    """One process with a wall clock that is wrong by ``skew`` seconds. ``down_until``: it is dead or stopped."""

    def __init__(self, name: str, clock: VirtualClock, skew: float) -> None:
        self.name = name
        self.clock = clock
        self.skew = skew
        self.down_until = 0.0
        self._latest: datetime | None = None

    @property
    def up(self) -> bool:
        return self.clock.seconds >= self.down_until

    def act(self, work: Callable[[datetime], object]) -> None:
        """Do ``work`` at the instant that this machine's clock shows."""
        # A process remembers the latest instant that it has seen, and all of ours are one process.
        with self.clock.read_by(self.skew), patch.object(planner, "_latest", self._latest):
            try:
                work(self.clock.now())
            finally:
                self._latest = planner._latest


class Looper(Machine):
    """A scheduler process. Its turn is lost with it; the lock that it held is not, and runs out."""

    def __init__(self, name: str, clock: VirtualClock, skew: float, store: LockStore, side: int) -> None:
        super().__init__(name, clock, skew)
        self._side = Side(store, side)
        self.begin_anew()

    def begin_anew(self) -> None:
        self.turn = Turn(LOCK, self.name, self._side)

    def round(self) -> None:
        """As the loop of a scheduler process does it."""
        self.act(self._round)

    def _round(self, now: datetime) -> None:
        standing = self.turn.look()
        if standing is not Standing.MINE:
            due = cursors.next_due()
            if due is None or due > now - self.turn.patience(standing):
                return
        drain(self.name, now)


def drain(name: str, now: datetime) -> None:
    """Rounds until nothing is due."""
    for _ in range(MOST_ROUNDS):
        if not planner.step(now, instance=name).more:
            return
    raise AssertionError(f"{name} was told to go on {MOST_ROUNDS} times at {now}")


class Worker(Machine):
    """Takes hints. What they say is not believed; that they came is reason enough to look."""

    def hint(self, schedule_id: str, tenant: str) -> None:
        self.act(lambda now: bridge.plan(schedule_id, tenant, instance=self.name))


class Person(Machine):
    """Triggers slots by name, and schedules without a slot; sends many a wish twice."""

    def trigger(self, schedule_id: str, tenant: str, slot: datetime | None, key: str) -> None:
        request = ScheduleTriggerRequest(
            schedule_id,
            tenant,
            planned_at=slot,
            origin="auto" if slot is not None else f"manual:{key}",
            job_origin="manual",
            by=self.name,
        )

        def ask(now: datetime) -> None:
            try:
                trigger.trigger(request, now)
            except ScheduleTriggerConflict:
                raise AssertionError(f"the same wish is called another one: {request}") from None

        self.act(ask)

    def edit(self, planned: Planned, period: int, now: datetime) -> None:
        """Give a schedule another period. Where the old rule ends for each tenant is noted in ``planned``."""
        row = Schedule.objects.get(id=planned.id)
        spec = replace(definition.read(row), every=period)
        control.update(planned.id, spec, revision=row.revision, actor=ACTOR, now=now)
        for state in ScheduleState.objects.filter(schedule_id=planned.id):
            planned.edits.setdefault(state.tenant_id, []).append((state.last_planned_at, period))

    def skip(self, schedule_id: str, tenant: str, now: datetime) -> None:
        """Have the next slot skipped, if one is to come."""
        try:
            control.skip_next(schedule_id, tenant_id=tenant, actor=ACTOR, now=now)
        except InvalidInput:
            return

    def pause(self, target: str, rule: ResumeRule, now: datetime) -> None:
        """Pause a schedule, or (empty) everything."""
        control.pause(_scope(target), target, actor=ACTOR, resume_rule=rule, now=now)

    def resume(self, target: str, now: datetime) -> None:
        """Lift that pause, if there is one."""
        control.resume(_scope(target), target, actor=ACTOR, now=now)


def _scope(target: str) -> PauseScope:
    return PauseScope.SCHEDULE if target else PauseScope.ALL
