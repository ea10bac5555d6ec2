"""What may happen at each step of a trigger: the process dies, or a rival does a round of its own meanwhile."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from unittest.mock import patch

from scheduler import steps


class Crash(BaseException):
    """The process is gone. Nothing of it is left but what was committed; nobody may catch this."""


class Moments:
    """Waits for the next time that a step is reached, and lets happen there what was wanted."""

    def __init__(self) -> None:
        self._wanted: tuple[str, Callable[[], None]] | None = None
        self._owner = threading.get_ident()
        self.seen: set[str] = set()

    @contextmanager
    def at(self, step: str, what: Callable[[], None]) -> Iterator[None]:
        """Within it, ``what`` happens once, the next time that ``step`` is reached."""
        self._wanted = (step, what)
        try:
            yield
        finally:
            self._wanted = None

    @contextmanager
    def in_force(self) -> Iterator[None]:
        with patch.object(steps, "reached", self._reached):
            yield

    def _reached(self, name: str) -> None:
        if threading.get_ident() != self._owner:
            return  # a rival's own steps
        self.seen.add(name)
        if self._wanted is not None and self._wanted[0] == name:
            what, self._wanted = self._wanted[1], None
            what()


def crash() -> None:
    """Raises Crash."""
    raise Crash
