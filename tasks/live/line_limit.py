"""Log lines about strangers: each is told, a flood of them once a minute. Pure."""

from __future__ import annotations

WINDOW_SECONDS = 60.0
DIFFERENT = 20
"""So many different ones a minute are told of one kind; the others are only counted."""


class LineLimit:
    """Times are monotonic seconds."""

    def __init__(self) -> None:
        self._began: dict[str, float] = {}
        self._told: dict[str, set[str]] = {}
        self._left_out: dict[str, int] = {}

    def allows(self, kind: str, who: str, at: float) -> int | None:
        """How many were left out since the last line, when this one is to be told; None: it is left out too."""
        if at - self._began.get(kind, float("-inf")) >= WINDOW_SECONDS:
            self._began[kind], self._told[kind] = at, set()
        told = self._told[kind]
        if who in told or len(told) >= DIFFERENT:
            self._left_out[kind] = self._left_out.get(kind, 0) + 1
            return None
        told.add(who)
        return self._left_out.pop(kind, 0)
