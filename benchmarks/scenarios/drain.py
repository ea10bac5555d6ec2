"""Jobs that do nothing, from a deep backlog: what a system itself costs."""

from __future__ import annotations

from benchmarks.bench import Bench
from benchmarks.results import Bound, Metric, Row
from benchmarks.scenarios.base import CELERY, OURS, RESULTS, RIVALS, SINGLE, Scenario, names
from benchmarks.scenarios.window import COUNTED, CPU_COUNTED, drain

DRAIN = Metric(
    "drain of no-op jobs",
    "jobs/s",
    "higher",
    COUNTED,
    (Bound(">=", 5, CELERY.name), Bound(">=", 10, RESULTS.name)),
)
DRAIN_SINGLE = Metric(
    "drain, one message a job", "jobs/s", "higher", COUNTED, (Bound(">=", 0.9, CELERY.name),)
)
CPU = Metric("worker CPU", "s per 1,000 jobs", "lower", CPU_COUNTED)
CPU_SINGLE = Metric("worker CPU, one message a job", "s per 1,000 jobs", "lower", CPU_COUNTED)

ALL = (OURS, SINGLE, *RIVALS)


def run(bench: Bench) -> list[Row]:
    sizes = bench.sizes
    figures = bench.measure("drain", ALL, lambda s: drain(s, "noop", sizes.backlog, sizes.window))
    rivals = names(*RIVALS)
    return [
        figures.row(DRAIN, rivals, key="rate"),
        figures.row(DRAIN_SINGLE, rivals, ours=SINGLE.name, key="rate"),
        figures.row(CPU, rivals, key="cpu"),
        figures.row(CPU_SINGLE, rivals, ours=SINGLE.name, key="cpu"),
    ]


SCENARIO = Scenario("drain", "no-op jobs from a deep backlog, and the workers' CPU", ALL, run)
