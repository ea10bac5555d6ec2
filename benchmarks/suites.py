"""What can be measured: jobs, schedules, the live feed; each with scenarios, versions and a document of its own."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from benchmarks import machine
from benchmarks.live import suite as live
from benchmarks.scenarios import cancel, claim, drain, enqueue, local, memory, short_jobs, start, urgent
from benchmarks.scenarios.base import Scenario
from benchmarks.schedules import suite as schedules
from benchmarks.stage import Stage

_JOBS: tuple[Scenario, ...] = tuple(
    module.SCENARIO for module in (drain, short_jobs, enqueue, start, urgent, cancel, claim, memory, local)
)


def _jobs(*, quick: bool) -> tuple[Scenario, ...]:
    return _JOBS


def _nothing(stage: Stage) -> list[str]:
    return []


@dataclass(frozen=True, slots=True)
class Suite:
    """``scenarios(quick=…)``; ``prepare`` readies the servers and tells about it."""

    name: str
    scenarios: Callable[..., tuple[Scenario, ...]]
    packages: tuple[str, ...] = machine.PACKAGES
    prepare: Callable[[Stage], list[str]] = _nothing


SUITES = {
    "jobs": Suite("jobs", _jobs),
    "schedules": Suite("schedules", schedules.scenarios, schedules.PACKAGES, schedules.prepare),
    "live": Suite("live", live.scenarios, live.PACKAGES),
}
