"""A job that a user waits for, while normal jobs fill every slot that they may have and more are waiting."""

from __future__ import annotations

from collections.abc import Mapping

from benchmarks.bench import Bench
from benchmarks.errors import NotMeasured
from benchmarks.handlers import BUSY_SECONDS
from benchmarks.numbers import percentile
from benchmarks.results import Bound, Metric, Row
from benchmarks.scenarios.base import OURS, Scenario
from benchmarks.scenarios.start import latencies
from benchmarks.session import Session
from benchmarks.systems.base import SLOTS

COUNTED = (
    "from before the enqueue call to the first line of the handler; 5 such jobs a second beside a backlog of "
    "0.2 s jobs of normal priority"
)
METRICS = {
    50: Metric("USER_ACTION start, slots full, p50", "ms", "lower", COUNTED),
    95: Metric("USER_ACTION start, slots full, p95", "ms", "lower", COUNTED, (Bound("<=", 100),)),
}


def run(bench: Bench) -> list[Row]:
    sizes = bench.sizes
    seconds = sizes.urgent_jobs / sizes.urgent_per_second
    backlog = int((seconds + 10) / BUSY_SECONDS * SLOTS)

    def measure(session: Session) -> Mapping[str, float]:
        session.do("fill", kind="busy", count=backlog)
        session.start_workers()
        session.wait("normal jobs in their slots", lambda: session.ran() >= SLOTS)
        instants = session.do(
            "urgent", kind="stamp", count=sizes.urgent_jobs, per_second=sizes.urgent_per_second
        )
        if session.ran() >= backlog:
            raise NotMeasured("the normal jobs were gone before the end: slots were not full")
        found = latencies(session, instants)
        return {metric.name: percentile(found, percent) for percent, metric in METRICS.items()}

    figures = bench.measure("urgent", (OURS,), measure)
    return [figures.row(metric, ()) for metric in METRICS.values()]


SCENARIO = Scenario("urgent", "start of USER_ACTION jobs with all normal slots full", (OURS,), run)
