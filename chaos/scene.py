"""One fault: what it may do, what it demands, and what came of it."""

from __future__ import annotations

import random
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from datetime import datetime
from functools import partial
from math import inf
from typing import TypeVar
from uuid import UUID

import psycopg
from django.db import DatabaseError, connections

from chaos import agree
from chaos.agree.facts import gather
from chaos.fleet import Fleet
from chaos.flow import Accepted, Flow
from chaos.platform import Servers
from jobsplatform.kernel import clock
from jobsplatform.kernel.loop import wait_until
from jobsplatform.kernel.models import Process
from tasks.models import Job, JobAttempt
from tasks.states import FINAL

T = TypeVar("T")


@dataclass
class Scene:
    """What a fault works with. Lengths are given unscaled to ``rest``, in real seconds elsewhere."""

    name: str
    servers: Servers
    fleet: Fleet
    rng: random.Random
    accepted: Accepted = field(init=False)
    problems: list[str] = field(default_factory=list)
    notes: list[str] = field(default_factory=list)
    began_at: datetime = field(default_factory=clock.now)
    patience: float = 0.0
    """Seconds that a broken promise may take to be told; 0: those of the scale."""
    jobs: int = 0
    runs: int = 0

    def __post_init__(self) -> None:
        self.accepted = Accepted(self.name)
        self.scale = self.servers.scale
        self.patience = self.patience or self.scale.patience
        self.ledger = self.servers.ledger
        self._beside: Flow | None = None
        self._silent = len(self.fleet.web.silent)

    # -- what a fault says -------------------------------------------------------------------------------

    def require(self, holds: bool, otherwise: str) -> None:
        """Note a broken promise unless it holds."""
        if not holds:
            self.problems.append(otherwise)

    def tell(self, words: str) -> None:
        """Something worth a word in the table."""
        self.notes.append(words)

    # -- what it does ------------------------------------------------------------------------------------

    def rest(self, seconds: float) -> None:
        """Let things happen for so long, unscaled."""
        threading.Event().wait(self.scale(seconds))

    def until(self, predicate: Callable[[], T], what: str) -> T | None:
        """Wait for a condition; its answer. None, and a broken promise, when it does not come."""
        try:
            return wait_until(lambda: _asked(predicate), self.patience, every=0.05)
        except TimeoutError:
            self.problems.append(f"{what}: not within {self.patience:.0f} s")
            return None

    def fresh(self) -> None:
        """Drop this process's own connection, which a fault has broken."""
        connections.close_all()

    @contextmanager
    def flow(self, queue: str = "default") -> Iterator[None]:
        """Jobs of every kind flow meanwhile."""
        flow = self._flowing(queue)
        try:
            yield
        finally:
            flow.stop()

    @contextmanager
    def flow_beside(self, queue: str) -> Iterator[None]:
        """The same beside the fault, for workers that it does not strike, until the scene settles."""
        self._beside = self._flowing(queue)
        try:
            yield
        finally:
            self._beside.stop()

    def _flowing(self, queue: str) -> Flow:
        flow = Flow(self.accepted, random.Random(self.rng.random()), self.scale, queue)
        flow.start()
        return flow

    def settle(self) -> None:
        """Wait until every job has ended. Patience is for the next to end, not for all: how many there are is the
        fault's choice, and how fast they end the machine's."""
        if self._beside is not None:
            self._beside.stop()
        fewest: float = inf
        while fewest:
            fewer = self.until(partial(self._fewer_open, fewest), f"every job ends ({fewest} have not)")
            if fewer is None:
                return
            fewest = fewer[0]

    def _fewer_open(self, than: float) -> tuple[int] | None:
        """How many jobs have not ended, if that is fewer."""
        left = self.open()
        return (left,) if left < than else None

    # -- what it looks at --------------------------------------------------------------------------------

    def open(self) -> int:
        """Jobs of this fault that have not ended."""
        return Job.objects.filter(user_id=self.name).exclude(state__in=sorted(FINAL)).count()

    def job(self, job_id: UUID) -> Job:
        return Job.objects.get(id=job_id)

    def lost_since_begin(self) -> int:
        """Runs of this fault that were taken back from a worker that was declared dead."""
        return JobAttempt.objects.filter(job__user_id=self.name, outcome__in=["lose", "crash"]).count()

    def declared_dead(self, pids: set[int]) -> int:
        """How many incarnations of these processes others took for dead during this fault."""
        return Process.objects.filter(pid__in=pids, role="worker", lost_at__gte=self.began_at).count()

    def sql(self, statement: str, *values: object) -> list[tuple[object, ...]]:
        """Rows of a statement on a session of its own."""
        with psycopg.connect(self.servers.postgres.url_of("postgres"), autocommit=True) as session:
            cursor = session.execute(statement.encode(), values)
            return cursor.fetchall() if cursor.description else []

    def judge(self) -> None:
        """After everything has ended: compare rows and file, and look at those who must have lived."""
        facts = gather(self.accepted, self.ledger, self.scale)
        self.problems += agree.problems(facts)
        self.jobs = len(facts.rows)
        self.runs = sum(len(runs) for runs in facts.runs.values())
        self.problems += self.fleet.web.silent[self._silent :][:1]
        self.problems += self.fleet.ended()


def _asked(predicate: Callable[[], T]) -> T | None:
    """Its answer; None while the database is away."""
    try:
        return predicate()
    except DatabaseError:
        connections.close_all()
        return None
