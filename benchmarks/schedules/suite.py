"""The scenarios of schedulers, in the sizes of a full or of a quick run."""

from __future__ import annotations

from benchmarks.bench import Bench
from benchmarks.results import Row
from benchmarks.scenarios.base import Scenario
from benchmarks.schedules.commits import FACT, remember
from benchmarks.schedules.scenarios import base, cost, due, lateness, rest
from benchmarks.schedules.sizes import FULL, QUICK, Sizes
from benchmarks.stage import Stage

SCENARIOS: tuple[base.Scenario, ...] = (due.SCENARIO, cost.SCENARIO, rest.SCENARIO, lateness.SCENARIO)
PACKAGES = (
    "Django",
    "celery",
    "kombu",
    "redis",
    "psycopg",
    "django-celery-beat",
    "celery-redbeat",
    "apscheduler",
)


def scenarios(*, quick: bool) -> tuple[Scenario, ...]:
    """All of them, as the bench runs them."""
    sizes = QUICK if quick else FULL
    return tuple(_bound(scenario, sizes) for scenario in SCENARIOS)


def _bound(scenario: base.Scenario, sizes: Sizes) -> Scenario:
    def run(bench: Bench) -> list[Row]:
        return scenario.run(bench, sizes)

    return Scenario(scenario.name, scenario.about, scenario.systems(sizes), run)


def prepare(stage: Stage) -> list[str]:
    """What the servers need beyond their settings; the facts about that."""
    remember(stage)
    return [FACT]
