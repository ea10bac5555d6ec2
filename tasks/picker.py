"""The choice among candidates, in memory: who starts in the free slots, and who lines up behind short runs."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from uuid import UUID

from jobsplatform.kernel import config
from tasks import limits, suspensions
from tasks.models import DispatchLock
from tasks.sql.claim import Candidate
from tasks.states import Priority


@dataclass(slots=True)
class Picker:
    """Chooses among candidates: most urgent first, then oldest; each k-th start, or one whenever somebody has
    waited longer than the starvation bound, goes to the longest waiting of lower priority.

    ``free``: slots of the worker that are free; ``lines``: its slots, by queue, whose short runs will soon have ended.
    The next short job may be sent there ahead of time. ``may_line_up`` says which jobs are known to be short.
    """

    free: int
    rooms: dict[str, limits.Room]
    gate: suspensions.Gate
    now: datetime
    locks: dict[str, DispatchLock]
    type_room: dict[str, int]
    lines: dict[str, list[UUID]] = field(default_factory=dict)
    may_line_up: Callable[[Candidate], bool] = lambda job: False
    key_room: dict[limits.Key, int] = field(default_factory=dict)
    busy_keys: set[limits.Key] = field(default_factory=set)
    squeezed: list[Candidate] = field(default_factory=list)  # urgent jobs that found no slot
    lined_up: dict[UUID, UUID] = field(default_factory=dict)  # job id: the slot it waits for

    def pick(self, jobs: list[Candidate]) -> list[Candidate]:
        """The jobs to start, in order; ``jobs`` come most urgent first."""
        waiting, chosen = list(jobs), []
        while waiting and (self.free > 0 or any(self.lines.values())):
            fair = self._fair(waiting)
            job = fair or waiting[0]
            waiting.remove(job)
            if self._may_start(job):
                chosen.append(job)
                self._take(job, fair=fair is not None)
        # No slot is left here. Another worker may have one: only a full queue makes somebody give way.
        urgent = [
            job for job in waiting if job.priority >= Priority.USER_ACTION and self.rooms[job.queue].high <= 0
        ]
        self.squeezed += [job for job in urgent if self._limits_allow(job)]
        return chosen

    def _fair(self, waiting: list[Candidate]) -> Candidate | None:
        settings = config.get().tasks
        bound = timedelta(seconds=settings.starvation_seconds)
        passed_over: dict[str, Candidate] = {}
        for job in waiting:
            if (
                job.priority < waiting[0].priority
                and (self.rooms[job.queue].any > 0 or self.lines.get(job.queue))
                and self._limits_allow(job)
            ):
                oldest = passed_over.get(job.queue)
                if oldest is None or (job.due_at, job.id) < (oldest.due_at, oldest.id):
                    passed_over[job.queue] = job
        for queue, job in passed_over.items():
            lock = self.locks[queue]
            since = max(job.due_at, lock.fair_at or job.due_at)
            if lock.claims + 1 >= settings.starvation_every or self.now - since >= bound:
                return job
        return None

    def _limits_allow(self, job: Candidate) -> bool:
        key = limits.key_of(job)
        return (
            self.type_room.get(job.handler_key, 1) > 0
            and (key is None or self.key_room[key] > 0)
            and self.gate.has_room(job.queue, job.handler_key)
        )

    def _may_start(self, job: Candidate) -> bool:
        key = limits.key_of(job)
        if key is not None and self.key_room[key] <= 0:
            self.busy_keys.add(key)
            return False
        if not self._limits_allow(job):
            return False
        if self.free > 0 and self.rooms[job.queue].has(job.priority):
            return True
        if self._line_up(job):
            return True
        if job.priority >= Priority.USER_ACTION and self.rooms[job.queue].high <= 0:
            self.squeezed.append(job)
        return False

    def _line_up(self, job: Candidate) -> bool:
        """Let it wait for a slot whose short runs are about to end. An urgent job, or one that is not short, gets that
        slot when it is free: nobody else is to be sent there."""
        lines = self.lines.get(job.queue)
        if not lines:
            return False
        slot = lines.pop()
        if job.priority >= Priority.USER_ACTION or not self.may_line_up(job):
            return False
        self.lined_up[job.id] = slot
        return True

    def _take(self, job: Candidate, *, fair: bool) -> None:
        if job.id not in self.lined_up:
            self.free -= 1
            self.rooms[job.queue].take()
        self.gate.take(job.queue, job.handler_key)
        if job.handler_key in self.type_room:
            self.type_room[job.handler_key] -= 1
        if (key := limits.key_of(job)) is not None:
            self.key_room[key] -= 1
        lock = self.locks[job.queue]
        lock.claims, lock.fair_at = (0, self.now) if fair else (lock.claims + 1, lock.fair_at)
