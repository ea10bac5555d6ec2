"""How long the runs of a type take: a running mean, kept by those who run them.

Each process adds up its runs and writes them about once a second, so that the cost does not grow with the
number of jobs; readers remember what they read for a moment.
"""

from __future__ import annotations

import os
import threading
from dataclasses import dataclass

from django.db import DatabaseError, connection

from jobsplatform.kernel import clock
from jobsplatform.kernel.db import in_transaction
from tasks import packing
from tasks.models import TypePace

WRITE_SECONDS = 1.0
READ_SECONDS = 2.0
UNKNOWN_SECONDS = 0.2
MEMORY_RUNS = 200
"""About so many last runs decide the mean."""
SLOWER = 3.0
"""Runs that took so many times the mean are no chance: what was known before counts no more. Too large packs cost
those who wait behind them, too small ones only a few messages."""


@dataclass(frozen=True, slots=True)
class Pace:
    """``mean`` seconds a run, over ``runs`` runs so far (0: nothing is known)."""

    runs: int
    mean: float

    @property
    def is_short(self) -> bool:
        """Known to be short enough to be packed."""
        return self.runs >= packing.KNOWN_RUNS and self.mean <= packing.SHORT_SECONDS


class Stopwatch:
    """The runs of this process that are not written yet. Any thread may add."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._sums: dict[str, tuple[int, float]] = {}
        self._written_at = float("-inf")
        self._written: set[str] = set()

    def add(self, handler_key: str, seconds: float) -> None:
        """Add an ended run."""
        with self._lock:
            runs, total = self._sums.get(handler_key, (0, 0.0))
            self._sums[handler_key] = (runs + 1, total + seconds)

    def take_due(self) -> dict[str, tuple[int, float]]:
        """What has come together, when it is time to write it; else nothing. A type that this process has written
        nothing of is due as soon as it would be known: a backlog of short jobs waits for that."""
        at = clock.monotonic()
        with self._lock:
            if self._sums and at - self._written_at >= WRITE_SECONDS:
                sums, self._sums, self._written_at = self._sums, {}, at
            else:
                new = [k for k, (runs, _) in self._sums.items() if runs >= packing.KNOWN_RUNS]
                sums = {key: self._sums.pop(key) for key in new if key not in self._written}
            self._written.update(sums)
        return sums


_UPSERT = """
INSERT INTO tasks_typepace (handler_key, runs, mean_seconds) VALUES (%s, %s, %s)
ON CONFLICT (handler_key) DO UPDATE SET
    runs = tasks_typepace.runs + excluded.runs,
    mean_seconds = tasks_typepace.mean_seconds
        + (excluded.mean_seconds - tasks_typepace.mean_seconds)
        * excluded.runs / (excluded.runs + CASE
            WHEN excluded.mean_seconds > tasks_typepace.mean_seconds * %s THEN 0
            WHEN tasks_typepace.runs < %s THEN tasks_typepace.runs ELSE %s END)
"""


def write(handler_key: str, runs: int, mean_seconds: float) -> None:
    """Take ``runs`` runs of ``mean_seconds`` each into the mean of their type, or in its place when it is clearly
    slower."""
    with connection.cursor() as cursor:
        cursor.execute(_UPSERT, [handler_key, runs, float(mean_seconds), SLOWER, MEMORY_RUNS, MEMORY_RUNS])


_watches: dict[int, Stopwatch] = {}


def _watch() -> Stopwatch:
    return _watches.setdefault(os.getpid(), Stopwatch())


def note(handler_key: str, seconds: float) -> None:
    """Remember that a run of this type took ``seconds``."""
    _watch().add(handler_key, seconds)


def write_noted() -> None:
    """Write what was noted, about once a second. Never raises for a database that is away: it is only a guess
    for later."""
    if in_transaction():
        return
    try:
        for key, (runs, total) in sorted(_watch().take_due().items()):
            write(key, runs, total / runs)
    except DatabaseError:
        connection.close_if_unusable_or_obsolete()


_read: dict[str, tuple[float, Pace]] = {}


def of(handler_key: str) -> Pace:
    """What is known of the type, at most ``READ_SECONDS`` old; that it is not known is looked at sooner."""
    at = clock.monotonic()
    known = _read.get(handler_key)
    if known is not None:
        read_at, pace = known
        if at - read_at < (READ_SECONDS if pace.runs >= packing.KNOWN_RUNS else UNKNOWN_SECONDS):
            return pace
    row = TypePace.objects.filter(handler_key=handler_key).first()
    pace = Pace(0, 0.0) if row is None else Pace(row.runs, row.mean_seconds)
    _read[handler_key] = (at, pace)
    return pace


def forget() -> None:
    """Read anew, and drop what is not written (tests)."""
    _read.clear()
    _watches.clear()
