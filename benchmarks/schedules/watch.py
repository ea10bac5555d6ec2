"""Waiting for a scheduler: until it has come to rest, until an instant, until its messages are there."""

from __future__ import annotations

import os
import time
from collections.abc import Callable

import psutil

from benchmarks.errors import NotMeasured, NotYet
from benchmarks.processes import cpu_seconds
from benchmarks.schedules.client import QUEUE
from benchmarks.session import Session
from benchmarks.stage import Stage

MARGIN = 0.4
LOOK = 0.3
CALM = 0.1
"""A process that used less than this share of a core, from one look to the next, is at rest."""


HOPELESS_TIME, HOPELESS_SHARE = 1 / 3, 1 / 6
"""Who has done less than this share of it after this part of the time is not waited for any longer."""

STARTED = 0.15
"""Seconds of CPU that no scheduler starts without."""


_slowness = 1.0
"""Of this machine: grows when a scheduler was not ready in time."""


def soon(lead: float) -> float:
    """The first whole second that is at least ``lead`` seconds away; more, when others use this machine too."""
    busy = os.getloadavg()[0] / (os.cpu_count() or 1)
    return float(int(time.time() + lead * max(1.0, busy) * _slowness) + 1)


def start(session: Session, deadline: float = float("inf")) -> None:
    """Start the scheduler and wait until it has loaded what it loads and is at rest.

    Raises NotYet when that is not so by ``deadline`` (Unix time); the next ``soon`` is later then.
    """
    global _slowness
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
            _slowness *= 1.5
            raise NotYet("it was not at rest by the due instant")


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
        began = time.time()
        while (there := self.count()) < count:
            _look(self._session, began, deadline, there, count)
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
    """Until so many are done, looked at seldom: the figure is read from the commits. Raises NotMeasured at
    ``deadline`` (Unix time)."""
    began = time.time()
    while (there := done()) < count:
        _look(session, began, deadline, there, count)
        time.sleep(0.1)


def _look(session: Session, began: float, deadline: float, there: int, count: int) -> None:
    for worker in session.workers:
        worker.require_alive()
    left, now = deadline - began, time.time()
    hopeless = now - began > left * HOPELESS_TIME and there < count * HOPELESS_SHARE
    if now > deadline or hopeless:
        raise TooSlow(there, count, now - began)


class TooSlow(NotMeasured):
    """The time for it was over, or it was sure that it would not suffice."""

    def __init__(self, there: int, count: int, seconds: float) -> None:
        super().__init__(f"{there:,} of {count:,} after {seconds:.0f} s, when it was given up")


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
