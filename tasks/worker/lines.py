"""The line before each shared slot of this worker: messages that take turns there, so that one slot is one process
however many were sent ahead."""

from __future__ import annotations

import threading
from collections import deque
from collections.abc import Callable, Set
from dataclasses import dataclass, field
from typing import Any
from uuid import UUID

Begin = Callable[[list[Any]], Any]
"""Hands messages to the pool, to be worked on one after the other by one process; returns Celery's request, or None
when nothing came of it."""

LOST_SECONDS = 60.0
"""A message that has not come for so long was lost; its job has been sent again, elsewhere, long before."""


@dataclass(slots=True)
class Line:
    """One slot. ``sent``: messages that have not ended; ``waiting``: those that have come and not begun, each with
    whether it must be by itself; ``busy``: how many the pool works on in this ``turn``, since the monotonic instant
    ``since``."""

    queue: str
    sent: int = 0
    busy: int = 0
    turn: int = 0
    request: Any = None
    since: float = 0.0
    idle_since: float | None = None
    waiting: deque[tuple[Any, bool]] = field(default_factory=deque)

    @property
    def is_short(self) -> bool:
        """Whether nothing is on its way behind those that are worked on."""
        return 0 < self.sent <= self.busy

    def over(self) -> None:
        """Those that the pool worked on have ended."""
        self.sent = max(len(self.waiting), self.sent - self.busy)
        self.busy, self.request = 0, None

    def next(self) -> list[Any]:
        """Those to work on next."""
        message, alone = self.waiting.popleft()
        together = [message]
        while not alone and self.waiting and not self.waiting[0][1]:
            together.append(self.waiting.popleft()[0])
        return together


class Lines:
    """All of them. Any thread may call."""

    def __init__(self, wake: Callable[[], None] = lambda: None, begin: Begin = lambda messages: None) -> None:
        self._lock = threading.Lock()
        self._lines: dict[UUID, Line] = {}
        self._wake = wake
        self._begin = begin

    def listen(self, wake: Callable[[], None]) -> None:
        """Who is woken when a line gets short, or a slot free."""
        self._wake = wake

    def ended(self) -> None:
        """A run that shared its slot with nobody has ended."""
        self._wake()

    def serve(self, begin: Begin) -> None:
        """Who hands messages to the pool."""
        self._begin = begin

    # -- the dispatcher's side ---------------------------------------------------------------------------

    def sent(self, slot: UUID, queue: str) -> None:
        """A message is on its way to this slot."""
        with self._lock:
            line = self._lines.setdefault(slot, Line(queue))
            line.sent += 1
            line.idle_since = None

    def unsent(self, slot: UUID) -> None:
        """It could not be sent after all."""
        with self._lock:
            line = self._lines.get(slot)
            if line is not None:
                line.sent -= 1
                self._forget_if_empty(slot, line)

    def short(self) -> list[tuple[str, UUID]]:
        """The slots, with their queues, that will soon have nothing to do."""
        with self._lock:
            return [(line.queue, slot) for slot, line in self._lines.items() if line.is_short]

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
                line.sent = line.busy = min(line.busy, 1)
                self._forget_if_empty(slot, line)

    def heal(self, held: Callable[[], Set[Any]], at: float) -> None:
        """Go on where a run ended without a word, and forget messages that never came. ``held``: the requests that
        Celery knows of; ``at``: monotonic now."""
        with self._lock:
            working = [
                (slot, line.request)
                for slot, line in self._lines.items()
                if line.busy and line.request is not None
            ]
            for slot, line in list(self._lines.items()):
                if line.busy or line.waiting:
                    line.idle_since = None
                elif line.idle_since is None:
                    line.idle_since = at
                elif at - line.idle_since >= LOST_SECONDS:
                    del self._lines[slot]
        # Asked after: one that begins meanwhile must not be missed in an older answer.
        known = held()
        for slot, request in working:
            if request not in known and self._works_on(slot, request):
                self.leave(slot, at)

    def _works_on(self, slot: UUID, request: Any) -> bool:
        with self._lock:
            line = self._lines.get(slot)
            return line is not None and line.request is request

    # -- the consumer's side -----------------------------------------------------------------------------

    def enter(self, slot: UUID, message: Any, at: float, *, alone: bool) -> None:
        """A message has come: begin now, or when those before it have ended. ``at``: monotonic now; ``alone``: never
        to be handed over together with others."""
        with self._lock:
            line = self._lines.setdefault(slot, Line("", sent=1))
            line.waiting.append((message, alone))
        self._advance(slot, at)

    def leave(self, slot: UUID, at: float) -> None:
        """What the pool worked on in this slot has ended."""
        with self._lock:
            line = self._lines.get(slot)
            if line is None:
                return
            line.over()
            self._forget_if_empty(slot, line)
            free = not line.waiting
        self._advance(slot, at)
        if free:
            self._wake()

    def _advance(self, slot: UUID, at: float) -> None:
        while True:
            with self._lock:
                line = self._lines.get(slot)
                if line is None or line.busy or not line.waiting:
                    return
                messages = line.next()
                line.busy, line.since, line.turn = len(messages), at, line.turn + 1
                turn = line.turn
            request = None
            try:
                request = self._begin(messages)
            finally:
                short = self._begun(slot, line, turn, request)
            if request is not None:
                break
        if short:
            self._wake()

    def _begun(self, slot: UUID, line: Line, turn: int, request: Any) -> bool:
        """Note the request of a turn; whether the line is short now. A thread of the pool may have ended it already."""
        with self._lock:
            if line.turn == turn and line.busy:
                line.request = request
                if request is None:
                    line.over()
                    self._forget_if_empty(slot, line)
            return line.is_short

    def _forget_if_empty(self, slot: UUID, line: Line) -> None:
        if line.sent <= 0 and not line.waiting and not line.busy:
            self._lines.pop(slot, None)


LINES = Lines()
"""One worker a process."""
