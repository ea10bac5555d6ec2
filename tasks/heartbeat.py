"""The heartbeat of a worker, and how far its word can be trusted.

``Trust`` is pure bookkeeping over monotonic seconds: when the database was last heard of, and since when the
beats have come without a gap. ``Heartbeat`` is the thread that beats.
"""

from __future__ import annotations

import threading
from collections.abc import Callable

from django.db import OperationalError, connection

from jobsplatform.kernel import clock, config, processes
from jobsplatform.kernel.loop import Loop
from tasks.worker.incarnation import Incarnation

BUSY_WORDS = ("database is locked", "database table is locked")

BUSY_MILLISECONDS = 300
BUSY_PAUSE_SECONDS = 0.5

STOP_SHARE = 0.6
"""Share of the lease after which a silent worker's handlers are asked to stop: before others take over."""


class Trust:
    """How long the beats have reached the database. Any thread may ask."""

    def __init__(self, lease_seconds: float, at: float) -> None:
        self._lease = lease_seconds
        self._lock = threading.Lock()
        self._last = at
        self._since = at
        self._failing = False

    def beaten(self, at: float) -> None:
        """A beat succeeded. A gap of a whole lease, or a failure, begins the count anew."""
        with self._lock:
            if self._failing or at - self._last >= self._lease:
                self._since = at
            self._failing = False
            self._last = at

    def busy(self, at: float) -> None:
        """The database answered that it is busy: we are not cut off, but this was no beat. Whoever else could
        not beat meanwhile must not be judged for it, so the count begins anew."""
        with self._lock:
            self._last = max(self._last, at)
            self._since = max(self._since, at)

    def missed(self) -> None:
        """A beat failed."""
        with self._lock:
            self._failing = True

    @property
    def connected(self) -> bool:
        """Whether the last beat reached the database; nothing is claimed otherwise."""
        return not self._failing

    def silent_for(self, at: float) -> float:
        """Seconds since the database was last heard of."""
        with self._lock:
            return max(0.0, at - self._last)

    def may_judge(self, at: float) -> bool:
        """Whether beats have succeeded for a full lease, so that silence is others' fault and not ours."""
        with self._lock:
            return not self._failing and at - self._last < self._lease and at - self._since >= self._lease


class Heartbeat(Loop):
    """Beats every ``TASKS__HEARTBEAT_SECONDS``; goes on under a new incarnation when it was declared dead."""

    name = "heartbeat"

    def __init__(self, incarnation: Incarnation, trust: Trust, busy_threads: Callable[[], int]) -> None:
        super().__init__()
        self._incarnation = incarnation
        self._trust = trust
        self._busy_threads = busy_threads
        self._busy = False

    def step(self) -> bool:
        self._busy = False
        try:
            self._beat()
        except OperationalError as error:
            if not is_busy(error):
                raise
            self._busy = True
            self._trust.busy(clock.monotonic())
        return False

    def _beat(self) -> None:
        if connection.vendor == "sqlite":
            # Asked for long, SQLite would say nothing; a short wait tells a busy file from one that is away.
            with connection.cursor() as cursor:
                cursor.execute(f"PRAGMA busy_timeout = {BUSY_MILLISECONDS}")
        clock.current().sync()
        now = clock.now()
        if not processes.beat(self._incarnation.id, now, busy_threads=self._busy_threads()):
            self._incarnation.renew(now)
        self._trust.beaten(clock.monotonic())

    def wait_seconds(self) -> float:
        seconds = config.get().tasks.heartbeat_seconds
        return min(seconds, BUSY_PAUSE_SECONDS) if self._busy else seconds

    def longest_backoff(self) -> float:
        """Never longer than from beat to beat: whoever is back a whole lease before us would take us for dead."""
        return min(super().longest_backoff(), config.get().tasks.heartbeat_seconds)

    def failed(self, error: Exception) -> None:
        self._trust.missed()


def is_busy(error: BaseException) -> bool:
    """Whether SQLite says that another writer holds the file: a wait, not an outage."""
    return (
        connection.vendor == "sqlite"
        and isinstance(error, OperationalError)
        and any(words in str(error) for words in BUSY_WORDS)
    )
