"""Jobs of 5 ms that block: two slots could do 400 a second."""

from __future__ import annotations

from benchmarks.bench import Bench
from benchmarks.results import Metric, Row
from benchmarks.scenarios.base import OURS, RIVALS, SINGLE, Scenario, names
from benchmarks.scenarios.window import COUNTED, drain

METRIC = Metric("drain of 5 ms jobs", "jobs/s", "higher", COUNTED)
METRIC_SINGLE = Metric("drain of 5 ms jobs, one message a job", "jobs/s", "higher", COUNTED)

ALL = (OURS, SINGLE, *RIVALS)


def run(bench: Bench) -> list[Row]:
    sizes = bench.sizes
    figures = bench.measure(
        "short", ALL, lambda s: drain(s, "short", sizes.short_backlog, sizes.short_window)
    )
    rivals = names(*RIVALS)
    return [
        figures.row(METRIC, rivals, key="rate"),
        figures.row(METRIC_SINGLE, rivals, ours=SINGLE.name, key="rate"),
    ]


SCENARIO = Scenario("short", "jobs of 5 ms from a backlog", ALL, run)
