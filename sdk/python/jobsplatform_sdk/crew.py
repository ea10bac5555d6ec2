"""The threads that run handlers."""

from __future__ import annotations

import logging
import threading
from collections import deque
from collections.abc import Callable

from jobsplatform_sdk.roster import Roster
from jobsplatform_sdk.runs import Run

logger = logging.getLogger("jobsplatform_sdk.sidecar")


class Crew:
    """``size`` threads, which take runs in the order in which they came.

    Daemon threads: a handler that never returns must not keep the process from ending.
    """

    def __init__(self, size: int, roster: Roster, work: Callable[[Run], None]) -> None:
        self.size = size
        self._roster = roster
        self._work = work
        self._waiting: deque[Run] = deque()
        self._busy = 0
        self._changed = threading.Condition()
        self._stopping = False

    def start(self) -> None:
        for number in range(1, self.size + 1):
            threading.Thread(target=self._loop, name=f"jobsplatform-run-{number}", daemon=True).start()

    def take(self, run: Run) -> bool:
        """Run it as soon as a thread is free. False: it is here already (a doubled delivery)."""
        if not self._roster.add(run):
            return False
        with self._changed:
            self._waiting.append(run)
            self._changed.notify_all()
        return True

    def free(self) -> int:
        """How many more could start at once."""
        with self._changed:
            return max(0, self.size - self._busy - len(self._waiting))

    def wait_free(self, seconds: float) -> int:
        """The same, waiting up to so many seconds for the first."""
        with self._changed:
            self._changed.wait_for(lambda: self.size > self._busy + len(self._waiting), seconds)
        return self.free()

    def take_back(self) -> list[Run]:
        """The runs that no thread has begun; none will."""
        with self._changed:
            waiting = list(self._waiting)
            self._waiting.clear()
            return waiting

    def stop(self) -> None:
        """Threads end when their run has."""
        with self._changed:
            self._stopping = True
            self._changed.notify_all()

    def _loop(self) -> None:
        while True:
            with self._changed:
                self._changed.wait_for(lambda: bool(self._waiting) or self._stopping)
                if not self._waiting:
                    return
                run = self._waiting.popleft()
                self._busy += 1
            try:
                self._work(run)
            except Exception:
                logger.exception("the run of job %s broke this sidecar's own code", run.key[0])
            finally:
                self._roster.remove(run)
                with self._changed:
                    self._busy -= 1
                    self._changed.notify_all()
