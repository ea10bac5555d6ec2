"""From the call of cancel to the moment in which a cooperative handler sees it."""

from __future__ import annotations

import random
import time
from collections.abc import Mapping

from benchmarks.bench import Bench
from benchmarks.numbers import percentile
from benchmarks.results import Bound, Metric, Row
from benchmarks.scenarios.base import OURS, Scenario
from benchmarks.session import Session

COUNTED = "from before the call to the handler's check that raised; it checks every 10 ms"
METRICS = {
    50: Metric("cancel seen, p50", "ms", "lower", COUNTED),
    95: Metric("cancel seen, p95", "ms", "lower", COUNTED, (Bound("<=", 1000),)),
}
SPREAD_SECONDS = 1.0
"""Cancels come at any moment of the period in which a worker looks for them."""


def run(bench: Bench) -> list[Row]:
    chance = random.Random(1)

    def measure(session: Session) -> Mapping[str, float]:
        session.start_workers()
        found = [_one(session, number, chance) for number in range(1, bench.sizes.cancels + 1)]
        return {metric.name: percentile(found, percent) for percent, metric in METRICS.items()}

    figures = bench.measure("cancel", (OURS,), measure)
    return [figures.row(metric, ()) for metric in METRICS.values()]


def _one(session: Session, number: int, chance: random.Random) -> float:
    session.do("begin", kind="polite", number=number)
    session.wait("the job's start", lambda: number in session.stamps())
    time.sleep(chance.uniform(0, SPREAD_SECONDS))
    asked = session.do("cancel", number=number)
    session.wait("the cancel to be seen", lambda: -number in session.stamps())
    return float((session.stamps()[-number] - asked) / 1e6)


SCENARIO = Scenario("cancel", "cancel of a running, cooperative handler", (OURS,), run)
