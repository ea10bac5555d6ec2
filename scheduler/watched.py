"""A loop that can tell whether something holds it up."""

from __future__ import annotations

from jobsplatform.kernel import clock, config
from jobsplatform.kernel.loop import Loop


class Watched(Loop):
    """``stands`` when no round has ended for a long time: it hangs. A round that failed has ended: outages are waited
    for, and the loop goes on by itself."""

    def __init__(self) -> None:
        super().__init__()
        self._ended_at = clock.monotonic()

    @property
    def stands(self) -> bool:
        """Whether no round has ended for SCHEDULER__OVERDUE_SECONDS."""
        last = max(self._ended_at, self.last_round or 0.0)
        return clock.monotonic() - last > config.get().scheduler.overdue_seconds

    def failed(self, error: Exception) -> None:
        self._ended_at = clock.monotonic()
