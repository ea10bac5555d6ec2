"""Waiting for a scheduler: until it has come to rest, until an instant, until its messages are there."""

from __future__ import annotations

import os
import time
from collections.abc import Callable

import psutil

from benchmarks.errors import NotMeasured
from benchmarks.processes import cpu_seconds
from benchmarks.schedules.client import QUEUE
from benchmarks.session import Session
from benchmarks.stage import Stage

MARGIN = 0.4
LOOK = 0.3
CALM = 0.1
"""A process that used less than this share of a core, from one look to the next, is at rest."""


STARTED = 0.15
"""Seconds of CPU that no scheduler starts without."""


def soon(lead: float) -> float:
    """The first whole second that is at least ``lead`` seconds away; more, when others use this machine too."""
    busy = os.getloadavg()[0] / (os.cpu_count() or 1)
    return float(int(time.time() + lead * max(1.0, busy)) + 1)


def start(session: Session, deadline: float = float("inf")) -> None:
    """Start the scheduler and wait until it has loaded what it loads and is at rest.

    Raises NotMeasured when that is not so by ``deadline`` (Unix time).
    """
    session.start_workers()
    began = time.monotonic()
    used, rested = 0.0, 0
    while rested < 2:
        time.sleep(LOOK)
        for worker in session.workers:
            worker.require_alive()
        total = cpu_seconds(session.workers)
        rested = rested + 1 if total - used < CALM * LOOK and total > STARTED else 0
        used = total
        if time.time() > deadline - MARGIN or time.monotonic() - began > 120:
            raise NotMeasured("it was not at rest by the due instant")


def until(instant: float) -> None:
    """Wait for a Unix time."""
    time.sleep(max(0.0, instant - time.time()))


class Broker:
    """The messages that the rivals have sent and nobody takes."""

    def __init__(self, session: Session, stage: Stage) -> None:
        self._session = session
        self._client = stage.redis.client()

    def __enter__(self) -> Broker:
        return self

    def __exit__(self, *_: object) -> None:
        self._client.close()

    def count(self) -> int:
        return int(self._client.llen(QUEUE))

    def wait(self, count: int, deadline: float, every: float = 0.003) -> float:
        """The Unix time at which so many were there. Raises NotMeasured at ``deadline``, or when the scheduler ends."""
        while (there := self.count()) < count:
            _look(self._session, deadline, there, count)
            time.sleep(every)
        return time.time()

    def arrivals(self, until: float, every: float = 0.002) -> list[float]:
        """When each message came, looked at every 2 ms until ``until`` (Unix time)."""
        found: list[float] = []
        while (at := time.time()) < until:
            found += [at] * (self.count() - len(found))
            time.sleep(every)
        return found


def wait(session: Session, count: int, done: Callable[[], int], deadline: float) -> None:
    """Until so many are done. Raises NotMeasured at ``deadline`` (Unix time)."""
    while (there := done()) < count:
        _look(session, deadline, there, count)
        time.sleep(0.05)


def _look(session: Session, deadline: float, there: int, count: int) -> None:
    for worker in session.workers:
        worker.require_alive()
    if time.time() > deadline:
        raise TooSlow(there, count)


class TooSlow(NotMeasured):
    """The time for it was over."""

    def __init__(self, there: int, count: int) -> None:
        super().__init__(f"{there:,} of {count:,} at the end of the time")


def database_cpu(stage: Stage) -> float:
    """User and system seconds of PostgreSQL so far, with those of connections that have ended."""
    assert stage.postgres.pid is not None
    main = psutil.Process(stage.postgres.pid)
    times = main.cpu_times()
    total = times.user + times.system + times.children_user + times.children_system
    for child in main.children(recursive=True):
        try:
            own = child.cpu_times()
        except psutil.NoSuchProcess:
            continue
        total += own.user + own.system
    return float(total)
