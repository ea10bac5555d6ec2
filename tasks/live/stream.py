"""What one audience hears of one topic: numbered events, the last of them kept for those who missed some. Pure."""

from __future__ import annotations

from collections import deque
from typing import Any

from tasks.live.topics import Topic
from tasks.live.viewer import Audience

KEPT = 512
"""Events that a stream keeps."""

KEPT_CHARACTERS = 2_000_000
"""It keeps no more text than this, however few events that is."""


class Stream:
    """Events, numbered without a hole from ``base`` + 1 on.

    It holds each event once for all its listeners, who keep their place in it: one that is slow costs no memory, and
    one that falls behind what is kept must ask for a snapshot.
    """

    def __init__(self, topic: Topic, audience: Audience, base: int) -> None:
        self.topic = topic
        self.audience = audience
        self.base = base
        self.seq = base
        self.listeners: set[Any] = set()
        self.flights: dict[int, Any] = {}
        self.idle_since: float | None = None
        self._kept: deque[str] = deque()
        self._characters = 0

    @property
    def first(self) -> int:
        """The number of the oldest event that is kept; one past the last when none is."""
        return self.seq - len(self._kept) + 1

    def add(self, event: str) -> None:
        """Append an event, as JSON."""
        self.seq += 1
        self._kept.append(event)
        self._characters += len(event)
        while len(self._kept) > KEPT or (self._characters > KEPT_CHARACTERS and len(self._kept) > 1):
            self._characters -= len(self._kept.popleft())

    def skip(self) -> None:
        """Something happened that is not told one by one: whoever listens needs a snapshot."""
        self.seq += 1
        self._kept.clear()
        self._characters = 0

    def begin_anew(self, base: int) -> None:
        """Go on with other numbers: whoever listens needs a snapshot."""
        self.base = self.seq = base
        self._kept.clear()
        self._characters = 0

    def covers(self, cursor: int) -> bool:
        """Is all that came after ``cursor`` still kept?"""
        return self.first - 1 <= cursor <= self.seq

    def event(self, seq: int) -> str:
        """The event of this number, which must be kept."""
        return self._kept[seq - self.first]
