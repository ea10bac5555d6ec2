"""What a schedule wants done about slots that were late or should not be. Pure."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import timedelta

from scheduler.states import Misfire


@dataclass(frozen=True, slots=True)
class Policies:
    """``grace``: a slot this late is still on time. ``misfire_limit``: slots a round in a catch-up;
    ``catch_up_window``: older slots expire; ``catch_up_max``: of a whole episode; ``max_runs``: of the schedule."""

    misfire: Misfire
    grace: timedelta = timedelta(seconds=8)
    misfire_limit: int = 3
    catch_up_window: timedelta = timedelta(hours=24)
    catch_up_max: int | None = None
    max_runs: int | None = None
