"""How much is measured: in full, or scaled down to show that everything works (--quick)."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Sizes:
    """Counts of jobs; times in seconds."""

    backlog: int = 100_000
    short_backlog: int = 10_000
    window: float = 10.0
    short_window: float = 6.0
    one_by_one: int = 2_000
    bulk: int = 10_000
    start_jobs: int = 200
    start_per_second: float = 20.0
    urgent_jobs: int = 60
    urgent_per_second: float = 5.0
    cancels: int = 20
    few_pending: int = 10_000
    many_pending: int = 1_000_000
    in_front: int = 1_000_000
    claims: int = 20
    packed_claims: int = 5
    memory_jobs: int = 20_000
    rest: float = 5.0
    local_backlog: int = 10_000
    local_enqueues: int = 500


FULL = Sizes()

QUICK = Sizes(
    backlog=2_000,
    short_backlog=200,
    window=2.0,
    short_window=2.0,
    one_by_one=100,
    bulk=1_000,
    start_jobs=20,
    urgent_jobs=5,
    cancels=2,
    few_pending=2_000,
    many_pending=5_000,
    in_front=2_000,
    claims=5,
    packed_claims=2,
    memory_jobs=200,
    rest=0.5,
    local_backlog=300,
    local_enqueues=50,
)
