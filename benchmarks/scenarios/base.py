"""A scenario, and the systems it compares."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from benchmarks.bench import Bench
from benchmarks.results import Row
from benchmarks.systems.base import System
from benchmarks.systems.celery_results.system import CeleryResults
from benchmarks.systems.ours.system import Ours
from benchmarks.systems.pgqueuer.system import PgQueuer
from benchmarks.systems.plain_celery.system import PlainCelery
from benchmarks.systems.procrastinate.system import Procrastinate

OURS = Ours()
SINGLE = Ours("ours, one message a job", {"TASKS__PACKING": "off"})
CELERY = PlainCelery()
RESULTS = CeleryResults()
PROCRASTINATE = Procrastinate()
PGQUEUER = PgQueuer()

RIVALS = (CELERY, RESULTS, PROCRASTINATE, PGQUEUER)


@dataclass(frozen=True, slots=True)
class Scenario:
    """``name`` is what --only takes; ``systems`` are all that it runs."""

    name: str
    about: str
    systems: tuple[System, ...]
    run: Callable[[Bench], list[Row]]


def names(*systems: System) -> list[str]:
    return [system.name for system in systems]
