"""One measurement of one system: a fresh database, a client, workers; all ended after the ``with``."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

import psycopg

from benchmarks.driver import Driver
from benchmarks.errors import NotMeasured
from benchmarks.processes import Child
from benchmarks.stage import Stage
from benchmarks.systems.base import Place, System

PATIENCE = 180.0
"""Seconds after which something that should have happened will not."""


class Session:
    """Its client takes orders by ``do``; ``ran`` counts what the handlers wrote, ``done`` what is on record."""

    def __init__(self, system: System, place: Place) -> None:
        self.system = system
        self.place = place
        self.workers: list[Child] = []
        self._enqueued = 0
        self._record: psycopg.Connection[Any] | None = None
        self._driver = Driver(
            system.name, system.client, system.environment(place), place.folder / "client.log"
        )

    def do(self, order: str, **arguments: Any) -> Any:
        """Have the client do something; see ``benchmarks.client``."""
        value = self._driver.do(order, **arguments)
        if order in ("fill", "bulk", "one_by_one", "paced"):
            self._enqueued += int(arguments["count"])
        return value

    def start_workers(self) -> None:
        for n, command in enumerate(self.system.workers()):
            log = self.place.folder / f"worker{n}.log"
            name = f"{self.system.name}'s worker"
            self.workers.append(Child(name, command, self.system.environment(self.place), log))

    def ran(self) -> int:
        """Runs so far, by the append-only file."""
        try:
            return (self.place.folder / "ran").stat().st_size
        except FileNotFoundError:
            return 0

    def done(self) -> int:
        """Jobs whose end is on record in the system's tables; what ran where it keeps no record."""
        if self.system.done_sql:
            return self._count(self.system.done_sql)
        if self.system.left_sql:
            return self._enqueued - self._count(self.system.left_sql)
        return self.ran()

    def _count(self, sql: str) -> int:
        if self._record is None:
            self._record = psycopg.connect(self.place.database_url, autocommit=True)
        row = self._record.execute(sql.encode()).fetchone()
        assert row is not None
        return int(row[0])

    def settle(self) -> None:
        """Give the planner the statistics that a server gathers by itself after a minute."""
        if self.place.database_url:
            with psycopg.connect(self.place.database_url, autocommit=True) as connection:
                connection.execute("VACUUM ANALYZE")

    def stamps(self) -> dict[int, int]:
        """When the numbered jobs started (monotonic ns). The first start counts."""
        try:
            text = (self.place.folder / "stamps").read_text()
        except FileNotFoundError:
            return {}
        lines = text[: text.rfind("\n") + 1].splitlines()
        found: dict[int, int] = {}
        for number, instant in (line.split() for line in lines):
            found.setdefault(int(number), int(instant))
        return found

    def wait(
        self, what: str, ready: Callable[[], bool], seconds: float = PATIENCE, every: float = 0.01
    ) -> float:
        """Wait for a condition; the monotonic instant at which it held.

        Raises NotMeasured when a worker ends, or when it has not come after ``seconds``.
        """
        deadline = time.monotonic() + seconds
        while not ready():
            for worker in self.workers:
                worker.require_alive()
            if time.monotonic() >= deadline:
                raise NotMeasured(f"{self.system.name}: {what}: not within {seconds:g} s")
            time.sleep(every)
        return time.monotonic()

    def close(self) -> None:
        for worker in self.workers:
            # What they were about to do is of no interest any more, and their database goes too.
            worker.stop(kindly=False)
        self._driver.stop()
        if self._record is not None:
            self._record.close()


@contextmanager
def session(stage: Stage, system: System) -> Iterator[Session]:
    """Open a session. Raises NotMeasured when the system is not there."""
    system.require()
    with stage.place(system) as place:
        opened = Session(system, place)
        try:
            yield opened
        finally:
            opened.close()
