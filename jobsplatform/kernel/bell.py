"""What a signal handler may do: ring. Whoever sleeps on the bell does the rest."""

from __future__ import annotations

import os
import select
import signal
from typing import Any


class Bell:
    """A pipe that signal handlers ring; the main thread, or a drain, sleeps on it."""

    def __init__(self) -> None:
        self._reader, self._writer = os.pipe()
        os.set_blocking(self._writer, False)
        self._owner = os.getpid()

    def ring(self, *_: Any) -> None:
        """Safe in a signal handler and from any thread."""
        # A child that has just been forked still has the handlers, and shares the pipe.
        if os.getpid() != self._owner:
            return
        try:
            os.write(self._writer, b"!")
        except BlockingIOError:
            pass  # it has been rung often enough

    def wait(self, seconds: float | None) -> bool:
        """Whether it was rung within ``seconds`` (None: however long it takes); takes one ring."""
        ready, _, _ = select.select([self._reader], [], [], seconds)
        return bool(ready) and bool(os.read(self._reader, 1))

    def install(self) -> None:
        """Ring on SIGTERM and Ctrl-C (and on SIGQUIT, twice); only the main thread may."""
        signal.signal(signal.SIGTERM, self.ring)
        signal.signal(signal.SIGINT, self.ring)
        signal.signal(signal.SIGQUIT, self._ring_twice)

    def _ring_twice(self, *_: Any) -> None:
        self.ring()
        self.ring()
