"""What enqueueing costs the caller: one by one, and many at once. No worker runs."""

from __future__ import annotations

from collections.abc import Mapping

from benchmarks.bench import Bench
from benchmarks.results import Bound, Metric, Row
from benchmarks.scenarios.base import CELERY, OURS, RIVALS, Scenario, names
from benchmarks.session import Session

ONE = Metric(
    "enqueue one by one",
    "jobs/s",
    "higher",
    "calls of the application's process, each returned before the next began",
    (Bound(">=", 0.8, CELERY.name),),
)
BULK = Metric(
    "enqueue in bulk",
    "jobs/s",
    "higher",
    "the system's own bulk call, of 10,000 jobs (Celery has none: one producer in a loop)",
    (Bound(">=", 15_000),),
)
WARM = 50

ALL = (OURS, *RIVALS)


def run(bench: Bench) -> list[Row]:
    sizes = bench.sizes

    def measure(session: Session) -> Mapping[str, float]:
        session.do("one_by_one", kind="noop", count=WARM)
        taken = session.do("one_by_one", kind="noop", count=sizes.one_by_one)
        seconds = session.do("bulk", kind="noop", count=sizes.bulk)
        return {ONE.name: len(taken) / sum(taken), BULK.name: sizes.bulk / seconds}

    figures = bench.measure("enqueue", ALL, measure)
    return [figures.row(metric, names(*RIVALS)) for metric in (ONE, BULK)]


SCENARIO = Scenario("enqueue", "enqueue one by one, and 10,000 at once", ALL, run)
