"""A service is a thread that calls ``step`` for ever, and never dies of an outage."""

from __future__ import annotations

import logging
import threading
import time
from collections.abc import Callable
from typing import TypeVar

from django.db import connections

from jobsplatform.kernel import db
from jobsplatform.kernel.forks import GUARD

logger = logging.getLogger("jobsplatform.loop")

T = TypeVar("T")

FIRST_BACKOFF_SECONDS = 0.25
MAX_BACKOFF_SECONDS = 5.0
LOG_EVERY_SECONDS = 60.0


class Loop:
    """Call ``step`` again and again in a thread of its own.

    After a step that found work the next follows at once; else the loop waits ``wait_seconds()``, or until
    ``wake``. An error is logged once a minute, this thread's database connections are closed, and the loop
    goes on after a pause that grows up to 5 s.
    """

    name = "loop"

    def __init__(self) -> None:
        self._woken = threading.Event()
        self._stopping = threading.Event()
        self._thread: threading.Thread | None = None
        self._failures = 0
        self._logged_at: float | None = None
        self.last_round: float | None = None
        """Monotonic seconds at the end of the last step that succeeded; a watchdog looks at it."""

    def step(self) -> bool:
        """Do one round; say whether it found work. To be given by the subclass."""
        raise NotImplementedError(f"{type(self).__name__} has no step")

    def wait_seconds(self) -> float:
        """How long to wait after a round without work."""
        return 1.0

    def longest_backoff(self) -> float:
        """The longest pause, in seconds, after rounds that failed."""
        return MAX_BACKOFF_SECONDS

    def failed(self, error: Exception) -> None:
        """A step raised ``error``; a subclass may count it. Must not raise."""

    @property
    def stopping(self) -> bool:
        return self._stopping.is_set()

    @property
    def alive(self) -> bool:
        return self._thread is not None and self._thread.is_alive()

    def start(self) -> None:
        """Begin, in a daemon thread. Starting twice is starting once."""
        if self.alive:
            return
        self._stopping.clear()
        self._thread = threading.Thread(target=self.run, name=self.name, daemon=True)
        self._thread.start()

    def wake(self) -> None:
        """Do the next round now. Any thread may call it; a wake during a round causes one more round."""
        self._woken.set()

    def stop(self, timeout: float | None = 10.0) -> bool:
        """Ask the loop to end after its round and wait up to ``timeout`` seconds; has it ended?"""
        self._stopping.set()
        self._woken.set()
        thread = self._thread
        if thread is not None and thread is not threading.current_thread():
            thread.join(timeout)
        return not self.alive

    def run(self) -> None:
        """The loop itself, in the calling thread, until ``stop``."""
        try:
            while not self._stopping.is_set():
                self._woken.clear()
                pause = self.round()
                if pause > 0 and not self._stopping.is_set():
                    self._woken.wait(pause)
        finally:
            connections.close_all()

    def round(self) -> float:
        """One step with its care for errors and connections; the seconds to wait after it."""
        try:
            with GUARD.round():
                db.close_stale()
                found = self.step()
        except Exception as error:
            return self._recover(error)
        if self._failures:
            logger.info("%s works again after %d failed rounds", self.name, self._failures)
        self._failures = 0
        self._logged_at = None
        self.last_round = time.monotonic()
        return 0.0 if found else self.wait_seconds()

    def _recover(self, error: Exception) -> float:
        pause = min(self.longest_backoff(), FIRST_BACKOFF_SECONDS * 2 ** min(self._failures, 10))
        self._failures += 1
        at = time.monotonic()
        if self._logged_at is None or at - self._logged_at >= LOG_EVERY_SECONDS:
            self._logged_at = at
            logger.error(
                "%s failed and goes on: %s: %s", self.name, type(error).__name__, error, exc_info=error
            )
        try:
            connections.close_all()
        except Exception:
            # The connection is broken already; what closing it says adds nothing.
            logger.debug("%s: closing a broken connection failed", self.name, exc_info=True)
        self.failed(error)
        return pause


def wait_until(predicate: Callable[[], T], timeout: float, every: float = 0.05) -> T:
    """Ask ``predicate`` every ``every`` seconds until it is true, and give its answer back.

    Raises TimeoutError after ``timeout`` seconds.
    """
    deadline = time.monotonic() + timeout
    while True:
        answer = predicate()
        if answer:
            return answer
        left = deadline - time.monotonic()
        if left <= 0:
            raise TimeoutError(
                f"not so within {timeout:g} s: {getattr(predicate, '__qualname__', predicate)}"
            )
        time.sleep(min(every, left))
