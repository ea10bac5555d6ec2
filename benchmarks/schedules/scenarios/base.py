"""A scenario of schedulers, and the systems it compares."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from benchmarks.bench import Bench
from benchmarks.results import Row
from benchmarks.schedules.apscheduler.system import APScheduler
from benchmarks.schedules.beat.system import CeleryBeat
from benchmarks.schedules.database_beat.system import DatabaseBeat
from benchmarks.schedules.ours.system import OurBeat, OurScheduler
from benchmarks.schedules.redbeat.system import RedBeat
from benchmarks.schedules.sizes import Sizes
from benchmarks.systems.base import System

BEAT = CeleryBeat()
DATABASE = DatabaseBeat()
REDBEAT = RedBeat()
APS = APScheduler()
RIVALS: tuple[System, ...] = (BEAT, DATABASE, REDBEAT, APS)


def ours(sizes: Sizes) -> OurScheduler:
    return OurScheduler(sizes.stored)


def our_beat(sizes: Sizes) -> OurBeat:
    return OurBeat(sizes.stored)


@dataclass(frozen=True, slots=True)
class Scenario:
    """``name`` is what --only takes; ``systems`` are all that it runs with these sizes."""

    name: str
    about: str
    systems: Callable[[Sizes], tuple[System, ...]]
    run: Callable[[Bench, Sizes], list[Row]]


def names(*systems: System) -> list[str]:
    return [system.name for system in systems]
