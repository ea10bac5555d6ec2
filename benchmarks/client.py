"""What every system's client can do in its own process; the subclasses say how one enqueues there."""

from __future__ import annotations

import time
from abc import ABC, abstractmethod

CHUNK = 10_000


class Client(ABC):
    """Kinds of jobs: noop, short, busy, stamp (see ``benchmarks.handlers``). Each takes a number."""

    @abstractmethod
    def prepare(self) -> None:
        """Make the tables that the system needs."""

    @abstractmethod
    def enqueue_one(self, kind: str, number: int) -> None:
        """As an application would, for one job."""

    @abstractmethod
    def enqueue_many(self, kind: str, count: int) -> None:
        """As an application would, by the system's own bulk call if it has one."""

    def fill(self, kind: str, count: int) -> None:
        """Make a backlog; not measured."""
        for start in range(0, count, CHUNK):
            self.enqueue_many(kind, min(CHUNK, count - start))

    def bulk(self, kind: str, count: int) -> float:
        """Seconds that ``count`` jobs take, in one call where there is one."""
        began = time.perf_counter()
        self.enqueue_many(kind, count)
        return time.perf_counter() - began

    def one_by_one(self, kind: str, count: int, first: int = 0) -> list[float]:
        """Seconds of each call."""
        taken = []
        for number in range(first, first + count):
            began = time.perf_counter()
            self.enqueue_one(kind, number)
            taken.append(time.perf_counter() - began)
        return taken

    def paced(self, kind: str, count: int, per_second: float, first: int = 0) -> list[int]:
        """Enqueue at a steady pace; the instants (monotonic ns) before each call."""
        instants = []
        began = time.monotonic()
        for n in range(count):
            time.sleep(max(0.0, began + n / per_second - time.monotonic()))
            instants.append(time.monotonic_ns())
            self.enqueue_one(kind, first + n)
        return instants
