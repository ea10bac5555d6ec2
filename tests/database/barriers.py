"""Named moments that racing threads wait for, instead of sleeping."""

from __future__ import annotations

import threading
from collections import defaultdict

from django.db import connection

from jobsplatform.kernel.loop import wait_until

PATIENCE = 20.0


class Gate:
    """Moments by name: ``open`` says that one has come, ``wait`` waits for it."""

    def __init__(self) -> None:
        self._moments: dict[str, threading.Event] = defaultdict(threading.Event)
        self._lock = threading.Lock()

    def _moment(self, name: str) -> threading.Event:
        with self._lock:
            return self._moments[name]

    def open(self, name: str) -> None:
        self._moment(name).set()

    def wait(self, name: str) -> None:
        if not self._moment(name).wait(PATIENCE):
            raise TimeoutError(f"{name!r} did not come")

    def wait_until_blocked(self, by: str) -> None:
        """Until another session waits for a lock that this one holds (PostgreSQL)."""
        wait_until(self.blocks_another, timeout=PATIENCE, every=0.01)

    @staticmethod
    def blocks_another() -> bool:
        """Whether another session waits for a lock that this one holds (PostgreSQL)."""
        with connection.cursor() as cursor:
            # Else a transaction sees who was there at first.
            cursor.execute("SELECT pg_stat_clear_snapshot()")
            cursor.execute(
                "SELECT count(*) FROM pg_stat_activity WHERE pg_backend_pid() = ANY(pg_blocking_pids(pid))"
            )
            return bool(cursor.fetchone()[0] > 0)
