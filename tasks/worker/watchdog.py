"""Catches a worker that lives and no longer works: cut off from the database, or deaf to its broker."""

from __future__ import annotations

import os
import threading
from collections.abc import Callable

import structlog

from jobsplatform.kernel import clock, config
from jobsplatform.kernel.loop import Loop
from tasks.heartbeat import STOP_SHARE, Trust
from tasks.worker import inflight

log = structlog.get_logger("jobsplatform.worker")

EXIT_FAILURE = 1
LAST_WORDS_SECONDS = 10.0
"""From asking the worker to end until it is ended by force."""


class Appetite:
    """Whether messages that are sent to this worker are also taken. Any thread may tell and ask."""

    def __init__(self, accepted: Callable[[], int] = inflight.accepted_so_far) -> None:
        self._accepted = accepted
        self._lock = threading.Lock()
        self._seen = 0
        self._hungry_since: float | None = None

    def sent(self, resent: int, *, free: bool, at: float) -> None:
        """A dispatch round sent ``resent`` messages again, their first having started nothing."""
        with self._lock:
            accepted = self._accepted()
            if accepted != self._seen or not free:
                self._seen, self._hungry_since = accepted, None
            elif resent and self._hungry_since is None:
                self._hungry_since = at

    def hungry_for(self, at: float) -> float:
        """Seconds for which messages were sent again, slots were free, and nothing was taken."""
        with self._lock:
            if self._hungry_since is None or self._accepted() != self._seen:
                return 0.0
            return at - self._hungry_since


class Watchdog(Loop):
    """Looks every half second; it never waits for the database or the broker itself."""

    name = "watchdog"

    def __init__(
        self,
        trust: Trust,
        appetite: Appetite,
        ask_to_stop: Callable[[], None],
        exit_worker: Callable[[int], None],
    ) -> None:
        super().__init__()
        self._trust = trust
        self._appetite = appetite
        self._ask_to_stop = ask_to_stop
        self._exit_worker = exit_worker
        self._asked = False
        self._exit_at: float | None = None

    def wait_seconds(self) -> float:
        return 0.5

    def step(self) -> bool:
        at, settings = clock.monotonic(), config.get().tasks
        silent = self._trust.silent_for(at)
        if silent < settings.lease_seconds * STOP_SHARE:
            self._asked = False
        elif not self._asked:
            self._asked = True
            log.error(
                "worker.cut_off",
                text=f"no heartbeat has reached the database for {silent:.0f} s: nothing is claimed, "
                "and running jobs are asked to stop before others take them over",
            )
            self._ask_to_stop()
        if silent >= settings.cutoff_exit_seconds:
            self._end(f"cut off from the database for {silent:.0f} s", at)
        elif (hungry := self._appetite.hungry_for(at)) >= settings.watchdog_seconds:
            self._end(
                f"messages sent to this worker have started nothing for {hungry:.0f} s, slots are free", at
            )
        return False

    def _end(self, why: str, at: float) -> None:
        if self._exit_at is None:
            self._exit_at = at + LAST_WORDS_SECONDS
            log.critical("worker.exits", text=f"this worker ends, to be started afresh: {why}")
            self._exit_worker(EXIT_FAILURE)
        elif at >= self._exit_at:
            os._exit(EXIT_FAILURE)
