"""Runs that ended without a word: told by Celery's hooks in the main thread, written by the warden's thread.

The hooks run inside the worker's event loop and must not wait for a database; what they tell stays here until
it is written, however long the database is away.
"""

from __future__ import annotations

import threading
from collections import deque
from collections.abc import Callable
from dataclasses import dataclass
from enum import StrEnum

from tasks.worker.inflight import RunKey

REMEMBERED = 1000
"""So many last runs are known as told; the hooks fire more than once for one ending."""


class How(StrEnum):
    """What became of the run's process."""

    DIED = "died"  # of itself
    UNCLEAR = "unclear"  # the process lives, but the run ended with an error of the platform's own
    TIMED_OUT = "timed_out"


@dataclass(frozen=True, slots=True)
class Loss:
    """One run that nobody else will write the end of."""

    key: RunKey
    how: How
    reason: str


class Losses:
    """The queue between hooks and warden. Any thread may tell; the warden takes."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._waiting: deque[Loss] = deque()
        self._known: deque[RunKey] = deque(maxlen=REMEMBERED)
        self._wake: Callable[[], None] | None = None

    def listen(self, wake: Callable[[], None] | None) -> None:
        """Who is to be woken when there is something to write."""
        self._wake = wake

    def tell(self, loss: Loss) -> None:
        """Remember a loss, unless this run's end is known already."""
        with self._lock:
            if loss.key in self._known:
                return
            self._known.append(loss.key)
            self._waiting.append(loss)
        if self._wake is not None:
            self._wake()

    def expect(self, key: RunKey) -> None:
        """We end this run ourselves: what the hooks say about it is no news."""
        with self._lock:
            self._known.append(key)

    def first(self) -> Loss | None:
        """The oldest one, which stays until ``done``."""
        with self._lock:
            return self._waiting[0] if self._waiting else None

    def done(self, loss: Loss) -> None:
        """It is written."""
        with self._lock:
            if self._waiting and self._waiting[0] is loss:
                self._waiting.popleft()


LOSSES = Losses()
"""One worker a process."""
