"""One history: what happens when, all of it from one seed, and what it came to."""

from __future__ import annotations

import heapq
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass, field
from datetime import timedelta
from functools import partial
from itertools import count
from random import Random

from scheduler.states import ResumeRule
from scheduler.steps import STEPS
from simulation import plans
from simulation.actors import Looper, Machine, Person, Worker, drain
from simulation.clock import VirtualClock
from simulation.locks import LockStore
from simulation.moments import Crash, Moments, crash
from simulation.rivals import beside

SECONDS = 420
"""How long a history is, in virtual time."""

LOST = 0.3
DOUBLED = 0.3
CRASHES = 0.12
RIVALS = 0.08
EDITED = 0.3


@dataclass
class Story:
    """What happened, for whoever wonders whether anything did."""

    counts: Counter[str] = field(default_factory=Counter)
    steps: set[str] = field(default_factory=set)


class History:
    """Everything that happens in ``SECONDS`` of virtual time, then a while in which all is well."""

    def __init__(self, seed: int, clock: VirtualClock) -> None:
        self.random = Random(seed)
        self.clock = clock
        self.store = LockStore()
        self.moments = Moments()
        self.story = Story(steps=self.moments.seen)
        self.schedules = plans.schedules(self.random, f"s{seed}")
        # An edit says which slots are whose by the right time: no clock steps beside edits.
        self.edited = self.random.random() < EDITED
        self.loopers = [
            Looper(f"loop-{n}", clock, self._skew(), self.store, n)
            for n in range(self.random.choice([0, 1, 2, 3, 3]))
        ]
        self.worker = Worker("worker", clock, self._skew())
        self.person = Person("person", clock, self._skew())
        self._numbers = count()  # of two events at one instant the first foreseen comes first
        self._events: list[tuple[float, int, Callable[[], None]]] = []

    def _skew(self) -> float:
        return self.random.choice([0.0, self.random.uniform(-3, 3)])

    # -- in order of time ---------------------------------------------------------------------------------------

    def at(self, seconds: float, what: Callable[[], None]) -> None:
        heapq.heappush(self._events, (seconds, next(self._numbers), what))

    def run(self) -> None:
        """Let it all happen."""
        for planned in self.schedules:
            plans.create(planned, self.random, self.clock.now())
        self._foresee()
        with self.moments.in_force():
            while self._events and self._events[0][0] <= SECONDS:
                seconds, _, what = heapq.heappop(self._events)
                self.clock.seconds = max(self.clock.seconds, seconds)
                what()
        self._end_well()

    def _end_well(self) -> None:
        """Whatever was left lying is decided once a scheduler is up that nothing happens to."""
        self.clock.seconds = float(SECONDS)
        last = Machine("last", self.clock, 0.0)
        for target in ["", *(planned.id for planned in self.schedules)]:
            last.act(partial(self.person.resume, target))
        for _ in range(3):
            last.act(partial(drain, "last"))
            self.clock.seconds += 1

    def _foresee(self) -> None:
        for looper in self.loopers:
            self.at(self.random.uniform(0, 2), partial(self._loop, looper))
        self._foresee_hints()
        for _ in range(self.random.randint(2, 8)):
            self.at(self.random.uniform(0, SECONDS), self._wish)
        for _ in range(self.random.randint(0, 6)):
            self.at(self.random.uniform(0, SECONDS), self._steer)
        for _ in range(self.random.randint(0, 3)):
            self.at(self.random.uniform(0, SECONDS), self._silence)
        for _ in range(self.random.randint(0, 4)):
            self.at(self.random.uniform(0, SECONDS), self._edit if self.edited else self._clock_step)
        for _ in range(self.random.randint(0, 5)):
            self.at(self.random.uniform(0, SECONDS), self._lock_trouble)

    # -- messages -----------------------------------------------------------------------------------------------

    def _foresee_hints(self) -> None:
        """As a foreign beat sends them, one for each slot; then the broker has its way with them."""
        end = self.clock.true + timedelta(seconds=SECONDS)
        start = self.clock.true
        for planned in self.schedules:
            for tenant in planned.tenants:
                for slot in planned.calendar(end):
                    self._send((slot - start).total_seconds(), planned.id, tenant)

    def _send(self, sent: float, schedule_id: str, tenant: str) -> None:
        if self.random.random() < LOST:
            self.story.counts["hints lost"] += 1
            return
        copies = 2 if self.random.random() < DOUBLED else 1
        self.story.counts["hints doubled"] += copies - 1
        for _ in range(copies):
            late = min(60.0, self.random.expovariate(1 / self.random.choice([0.05, 0.05, 10])))
            self.at(sent + late, partial(self._hint, schedule_id, tenant))

    def _hint(self, schedule_id: str, tenant: str) -> None:
        self._live(self.worker, partial(self.worker.hint, schedule_id, tenant))

    # -- processes ----------------------------------------------------------------------------------------------

    def _loop(self, looper: Looper) -> None:
        self._live(looper, looper.round)
        self.at(
            max(self.clock.seconds, looper.down_until) + self.random.uniform(0.3, 4),
            partial(self._loop, looper),
        )

    def _live(self, machine: Machine, work: Callable[[], None]) -> None:
        """Let a process that is up do its work, unless it dies at it."""
        if not machine.up:
            return
        fate, step = self.random.random(), self.random.choice(STEPS)
        try:
            if fate < CRASHES:
                with self.moments.at(step, crash):
                    work()
            elif fate < CRASHES + RIVALS:
                with self.moments.at(step, self._rival):
                    work()
            else:
                work()
        except Crash:
            self.story.counts["crashes"] += 1
            machine.down_until = self.clock.seconds + self.random.uniform(1, 15)
            if isinstance(machine, Looper):
                machine.begin_anew()

    def _rival(self) -> None:
        """Somebody else comes to the same slots in the midst of a round."""
        self.story.counts["rivals"] += 1
        now = self.clock.now() + timedelta(seconds=self.random.uniform(-1, 1))
        beside(partial(drain, "rival", now))

    def _silence(self) -> None:
        """Everybody is down for a while."""
        self.story.counts["outages"] += 1
        until = self.clock.seconds + self.random.uniform(10, 120)
        for machine in self._machines():
            machine.down_until = max(machine.down_until, until)

    def _machines(self) -> list[Machine]:
        return [*self.loopers, self.worker]

    # -- people, clocks, locks ----------------------------------------------------------------------------------

    def _wish(self) -> None:
        planned = self.random.choice(self.schedules)
        tenant = self.random.choice(planned.tenants)
        slot = None
        if self.random.random() < 0.8:
            near = self.clock.true + timedelta(seconds=self.random.uniform(-60, -5 if self.edited else 60))
            slots = [slot for slot in planned.calendar(near, tenant=tenant) if not planned.taken_out(slot)]
            slot = slots[-1] if slots else None
        key = str(self.random.random())
        for _ in range(self.random.choice([1, 1, 2])):
            self.story.counts["wishes"] += 1
            self._live(self.person, partial(self.person.trigger, planned.id, tenant, slot, key))

    def _steer(self) -> None:
        """Somebody pauses a schedule, or everything, for a while, or wants the next slot skipped."""
        self.story.counts["pauses and skips"] += 1
        planned = self.random.choice(self.schedules)
        tenant = self.random.choice(planned.tenants)
        what = self.random.choice(["pause", "pause", "pause all", "skip"])
        if what == "skip":
            self.person.act(partial(self.person.skip, planned.id, tenant))
            return
        target = planned.id if what == "pause" else ""
        self.person.act(partial(self.person.pause, target, self.random.choice(list(ResumeRule))))
        lifted = self.clock.seconds + self.random.uniform(2, 60)
        self.at(lifted, lambda: self.person.act(partial(self.person.resume, target)))

    def _edit(self) -> None:
        """Somebody changes the rule of a schedule."""
        planned = self.random.choice([each for each in self.schedules if not each.minutely])
        period = self.random.choice([6, 8, 12, 15])
        self.story.counts["edits"] += 1
        self._live(self.person, lambda: self.person.act(partial(self.person.edit, planned, period)))

    def _clock_step(self) -> None:
        machine = self.random.choice(self._machines())
        self.story.counts["clock steps"] += 1
        before = machine.skew
        machine.skew = self.random.choice([-3600.0, -40.0, -5.0, 5.0, 40.0])

        def mend() -> None:
            machine.skew = before

        self.at(self.clock.seconds + self.random.uniform(5, 60), mend)

    def _lock_trouble(self) -> None:
        self.story.counts["lock troubles"] += 1
        kind = self.random.choice(["flush", "away", "split"])
        if kind == "flush":
            self.store.flush()
            return
        setattr(self.store, kind, True)
        self.at(self.clock.seconds + self.random.uniform(5, 90), partial(setattr, self.store, kind, False))
