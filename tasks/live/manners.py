"""How a client behaves: too many frames are refused, too many refusals end the connection. Pure."""

from __future__ import annotations

from collections import deque

from tasks.live.refusals import Refused

BURST = 200
A_SECOND = 20.0
FORGIVEN = 20
WITHIN_SECONDS = 60.0


class Manners:
    """Times are monotonic seconds."""

    def __init__(self) -> None:
        self._left = float(BURST)
        self._at: float | None = None
        self._refused: deque[float] = deque(maxlen=FORGIVEN + 1)

    def heard(self, at: float) -> None:
        """A frame came. Raises Refused when there were too many."""
        if self._at is not None:
            self._left = min(float(BURST), self._left + (at - self._at) * A_SECOND)
        self._at = at
        if self._left < 1:
            raise Refused("RATE_LIMITED", f"At most {A_SECOND:g} frames a second.")
        self._left -= 1

    def refused(self, at: float) -> bool:
        """A frame was refused; is it enough?"""
        self._refused.append(at)
        return len(self._refused) > FORGIVEN and at - self._refused[0] < WITHIN_SECONDS
