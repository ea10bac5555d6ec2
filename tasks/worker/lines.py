"""The line before each shared slot of this worker: single messages that take turns, so that one slot is one process
however many were sent ahead."""

from __future__ import annotations

import threading
from collections import deque
from collections.abc import Callable, Set
from dataclasses import dataclass, field
from typing import Any
from uuid import UUID

Begin = Callable[[], Any]
"""Hands a message to the pool; returns Celery's request, or None when nothing came of it."""

FEW = 8
"""Single messages left in a line when more are asked for: what is worked off while a round claims and sends."""


@dataclass(slots=True)
class Line:
    """One slot: ``sent`` and not ended yet; ``waiting``: arrived, and not begun."""

    queue: str
    few: int
    sent: int = 0
    busy: bool = False
    request: Any = None
    since: float = 0.0
    waiting: deque[Begin] = field(default_factory=deque)


class Lines:
    """All of them. Any thread may call."""

    def __init__(self, wake: Callable[[], None] = lambda: None) -> None:
        self._lock = threading.Lock()
        self._lines: dict[UUID, Line] = {}
        self._wake = wake

    def listen(self, wake: Callable[[], None]) -> None:
        """Who is woken when a line gets short."""
        self._wake = wake

    # -- the dispatcher's side ---------------------------------------------------------------------------

    def sent(self, slot: UUID, queue: str, *, packed: bool) -> None:
        """A message is on its way to this slot."""
        with self._lock:
            line = self._lines.setdefault(slot, Line(queue, 1))
            line.few = 1 if packed else FEW
            line.sent += 1

    def unsent(self, slot: UUID) -> None:
        """It could not be sent after all."""
        with self._lock:
            line = self._lines.get(slot)
            if line is not None:
                line.sent = max(0, line.sent - 1)

    def short(self) -> list[tuple[str, UUID]]:
        """The slots, with their queues, that will soon have nothing to do."""
        with self._lock:
            return [(line.queue, slot) for slot, line in self._lines.items() if 0 < line.sent <= line.few]

    def turning(self) -> frozenset[UUID]:
        """The slots that work now."""
        with self._lock:
            return frozenset(slot for slot, line in self._lines.items() if line.busy or line.waiting)

    def slow(self, before: float) -> list[UUID]:
        """The slots where others wait behind a run that began before this monotonic instant."""
        with self._lock:
            return [
                s for s, line in self._lines.items() if line.busy and line.sent > 1 and line.since < before
            ]

    def drop(self, slot: UUID) -> None:
        """Those that wait there have been given back: their messages would do nothing."""
        with self._lock:
            line = self._lines.get(slot)
            if line is not None:
                line.waiting.clear()
                line.sent = 1 if line.busy else 0

    def heal(self, held: Set[Any]) -> None:
        """Go on where a run ended without a word; ``held``: the requests that Celery knows of."""
        with self._lock:
            over = [
                slot
                for slot, line in self._lines.items()
                if line.busy and line.request is not None and line.request not in held
            ]
        for slot in over:
            self.leave(slot)

    # -- the consumer's side -----------------------------------------------------------------------------

    def enter(self, slot: UUID, begin: Begin, at: float) -> None:
        """A message has come: begin now, or when those before it have ended. ``at``: monotonic now."""
        with self._lock:
            line = self._lines.setdefault(slot, Line("", 1, sent=1))
            line.waiting.append(begin)
        self._advance(slot, at)

    def leave(self, slot: UUID, at: float | None = None) -> None:
        """The run in this slot has ended."""
        with self._lock:
            line = self._lines.get(slot)
            if line is None:
                return
            line.busy, line.request = False, None
            line.sent = max(0, line.sent - 1)
            short = line.sent in (line.few, 0)
            if not line.sent and not line.waiting:
                del self._lines[slot]
        self._advance(slot, line.since if at is None else at)
        if short:
            self._wake()

    def _advance(self, slot: UUID, at: float) -> None:
        while True:
            with self._lock:
                line = self._lines.get(slot)
                if line is None or line.busy or not line.waiting:
                    return
                line.busy, line.since, begin = True, at, line.waiting.popleft()
            line.request = begin()
            if line.request is not None:
                return
            with self._lock:
                line.busy = False
                line.sent = max(0, line.sent - 1)


LINES = Lines()
"""One worker a process."""
