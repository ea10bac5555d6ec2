"""The runs of a sidecar, and the threads that speak for them: heartbeats, progress, and looks for a cancel."""

from __future__ import annotations

import logging
import threading
from collections.abc import Callable

from jobsplatform_sdk.runs import Run

logger = logging.getLogger("jobsplatform_sdk.sidecar")


class Roster:
    """Which runs are going on, by (job id, lease)."""

    def __init__(self) -> None:
        self._runs: dict[tuple[str, int], Run] = {}
        self._changed = threading.Condition()

    def add(self, run: Run) -> bool:
        """False: it is there already. An older run of the same job has lost its lease."""
        with self._changed:
            if run.key in self._runs:
                return False
            for other in self._runs.values():
                if other.key[0] == run.key[0]:
                    other.lose()
            self._runs[run.key] = run
            return True

    def remove(self, run: Run) -> None:
        with self._changed:
            self._runs.pop(run.key, None)
            self._changed.notify_all()

    def has(self, key: tuple[str, int]) -> bool:
        with self._changed:
            return key in self._runs

    def all(self) -> list[Run]:
        with self._changed:
            return list(self._runs.values())

    def wait_empty(self, seconds: float) -> bool:
        """Has the last run ended within so many seconds?"""
        with self._changed:
            return self._changed.wait_for(lambda: not self._runs, max(0.0, seconds))


class Service:
    """A thread that does one ``step`` after another until it is stopped.

    A step gives the seconds after which the next is due; ``wake`` makes it due at once.
    """

    def __init__(self, name: str, step: Callable[[], float]) -> None:
        self._step = step
        self._bell = threading.Event()
        self._stopping = False
        self._thread = threading.Thread(target=self._loop, name=f"jobsplatform-{name}", daemon=True)

    def start(self) -> None:
        self._thread.start()

    def wake(self) -> None:
        self._bell.set()

    def stop(self, seconds: float = 5.0) -> None:
        self._stopping = True
        self._bell.set()
        if self._thread.is_alive():
            self._thread.join(seconds)

    def _loop(self) -> None:
        while not self._stopping:
            self._bell.clear()
            try:
                pause = self._step()
            except Exception:
                # A fault of ours must not end the heartbeats of healthy runs.
                logger.exception("%s has failed; it goes on in a second", self._thread.name)
                pause = 1.0
            self._bell.wait(pause)
