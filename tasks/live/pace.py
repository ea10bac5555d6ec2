"""How often one job may be told: at once at first, no more than four times a second, and the last word always. Pure."""

from __future__ import annotations

import heapq
from collections import deque
from collections.abc import Hashable

FRAMES = 4
WITHIN_SECONDS = 1.0
PROGRESS_GAP_SECONDS = 0.34
"""Between two words of progress: one of the four is left for a change of state, which then need not wait."""

FORGET_AT = 10_000


class Pace:
    """When each key is due to be told. Times are monotonic seconds."""

    def __init__(self) -> None:
        self._told: dict[Hashable, deque[float]] = {}
        self._due: dict[Hashable, float] = {}
        self._queue: list[tuple[float, int, Hashable]] = []
        self._count = 0

    def __len__(self) -> int:
        return len(self._due)

    def want(self, key: Hashable, at: float, *, progress: bool = False) -> None:
        """``key`` has changed at ``at``; ``progress``: its progress alone."""
        due = self._earliest(key, at, progress)
        known = self._due.get(key)
        if known is not None and known <= due:
            return
        self._due[key] = due
        self._count += 1
        heapq.heappush(self._queue, (due, self._count, key))

    def _earliest(self, key: Hashable, at: float, progress: bool) -> float:
        told = self._told.get(key)
        if not told:
            return at
        due = max(at, told[0] + WITHIN_SECONDS) if len(told) == FRAMES else at
        return max(due, told[-1] + PROGRESS_GAP_SECONDS) if progress else due

    def next_due(self) -> float | None:
        """When the next key is due; None: no key is."""
        while self._queue:
            due, _, key = self._queue[0]
            if self._due.get(key) == due:
                return due
            heapq.heappop(self._queue)  # asked for again, and sooner
        return None

    def take(self, at: float, most: int) -> list[Hashable]:
        """Up to ``most`` keys that are due at ``at``; they count as told then."""
        taken: list[Hashable] = []
        while len(taken) < most and (due := self.next_due()) is not None and due <= at:
            _, _, key = heapq.heappop(self._queue)
            del self._due[key]
            self._told.setdefault(key, deque(maxlen=FRAMES)).append(at)
            taken.append(key)
        if len(self._told) > FORGET_AT:
            self._forget(at)
        return taken

    def drop(self) -> None:
        """Forget what is due."""
        self._due.clear()
        self._queue.clear()

    def _forget(self, at: float) -> None:
        self._told = {key: told for key, told in self._told.items() if told[-1] + WITHIN_SECONDS > at}
