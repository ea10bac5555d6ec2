"""Which failed calls are sent again, and when. Pure: time and chance are arguments."""

from __future__ import annotations

import random
from collections.abc import Callable
from dataclasses import dataclass, field

from jobsplatform_sdk.errors import BusError, NoAnswer, NotNow

FIRST_SECONDS = 0.2
LONGEST_SECONDS = 10.0


@dataclass(slots=True)
class Attempts:
    """The attempts of one call.

    Sent again: what was refused for now (429, 503) or never arrived, whatever it is, because nothing was done; and
    what got no answer, when it is ``repeatable``. Waits grow from 0.2 to 10 seconds with full jitter; the platform's
    own Retry-After is never undercut. ``seconds`` is the time that may pass before the last attempt begins.
    """

    repeatable: bool
    seconds: float
    began: float
    chance: Callable[[], float] = random.random
    count: int = field(default=0, init=False)

    def pause_after(self, error: BusError, now: float) -> float | None:
        """Seconds to wait before the next attempt; None: there is none, the error stands."""
        if not (isinstance(error, NotNow) or (isinstance(error, NoAnswer) and self.repeatable)):
            return None
        pause = min(LONGEST_SECONDS, FIRST_SECONDS * 2.0**self.count) * (0.5 + self.chance() / 2)
        self.count = min(self.count + 1, 16)
        if error.retry_after is not None:
            pause = max(pause, error.retry_after)
        return pause if now + pause - self.began <= self.seconds else None
