"""What every system's client can do with schedules; the subclasses say how one writes them there."""

from __future__ import annotations

import time
from abc import ABC, abstractmethod

QUEUE = "celery"
"""The list in Redis that the rivals' messages go to."""

DAY = 86_400
FAR = 3 * DAY
"""Seconds until what is only held comes due."""


class ScheduleClient(ABC):
    """Each schedule sends one message, or makes one job, that does nothing."""

    def prepare(self) -> None:  # noqa: B027 - most need nothing
        """Make the tables that the system needs."""

    @abstractmethod
    def arm(self, count: int, at: float, period: int) -> None:
        """Store ``count`` schedules that are due at ``at`` (Unix time), a whole second, and each ``period`` seconds
        after that."""

    def hold(self, count: int) -> None:
        """Store ``count`` schedules that are due in some days."""
        if count:
            self.arm(count, float(int(time.time()) + FAR), FAR)

    def edit(self, number: int) -> float:
        """Make one of the held schedules due at once, as its users would; the Unix time at which that was written."""
        raise AttributeError("schedules cannot be edited from another process")
