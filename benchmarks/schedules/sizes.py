"""How much is measured of schedulers: in full, or scaled down to show that everything works (--quick)."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Sizes:
    """Counts of schedules; times in seconds."""

    stored: int = 100_000
    few: int = 1_000
    held: int = 10_000
    due: tuple[int, ...] = (1_000, 5_000, 10_000)
    cut: float = 60.0
    cost_slots: int = 3
    cost_period: int = 3
    lead: float = 5.0
    idle: float = 15.0
    edits: int = 10
    rival_edits: int = 3
    each_second: int = 100
    lateness: int = 15


FULL = Sizes()

QUICK = Sizes(
    stored=2_000,
    few=100,
    held=100,
    due=(100,),
    cut=20.0,
    cost_slots=1,
    cost_period=1,
    lead=2.5,
    idle=1.0,
    edits=2,
    rival_edits=1,
    each_second=10,
    lateness=1,
)
