"""How much is measured of the live feed."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Sizes:
    """Counts; times in seconds."""

    events: int = 300
    per_second: float = 25.0
    sockets: int = 1_000
    socket_events: int = 20
    creates: int = 4_000
    batches: int = 60
    batch: int = 100
    callers: int = 8
    backlog: int = 100_000
    window: float = 10.0
    storm_jobs: int = 50


FULL = Sizes()
QUICK = Sizes(
    events=20,
    sockets=50,
    socket_events=3,
    creates=100,
    batches=3,
    callers=4,
    backlog=2_000,
    window=2.0,
    storm_jobs=5,
)
