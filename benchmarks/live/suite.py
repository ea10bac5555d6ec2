"""The scenarios of the live feed and the bus, in the sizes of a full or of a quick run."""

from __future__ import annotations

from benchmarks.bench import Bench
from benchmarks.live.scenarios import base, bus, event, sockets, storm
from benchmarks.live.sizes import FULL, QUICK, Sizes
from benchmarks.results import Row
from benchmarks.scenarios.base import Scenario

SCENARIOS: tuple[base.Scenario, ...] = (event.SCENARIO, sockets.SCENARIO, bus.SCENARIO, storm.SCENARIO)
PACKAGES = ("Django", "channels", "uvicorn", "websockets", "django-ninja", "celery", "redis", "psycopg")


def scenarios(*, quick: bool) -> tuple[Scenario, ...]:
    """All of them, as the bench runs them."""
    sizes = QUICK if quick else FULL
    return tuple(_bound(scenario, sizes) for scenario in SCENARIOS)


def _bound(scenario: base.Scenario, sizes: Sizes) -> Scenario:
    def run(bench: Bench) -> list[Row]:
        return scenario.run(bench, sizes)

    return Scenario(scenario.name, scenario.about, scenario.systems, run)
