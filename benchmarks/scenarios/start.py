"""From enqueue to start while there is little to do."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from benchmarks.bench import Bench
from benchmarks.numbers import percentile
from benchmarks.results import Bound, Metric, Row
from benchmarks.scenarios.base import OURS, RIVALS, Scenario, names
from benchmarks.session import Session

COUNTED = (
    "from before the enqueue call to the first line of the handler, by the machine's one monotonic clock; "
    "20 jobs a second"
)
PERCENTS = (50, 95, 99)
BOUNDS = {50: (Bound("<=", 15),), 95: (Bound("<=", 50),)}
METRICS = {
    percent: Metric(f"enqueue to start, p{percent}", "ms", "lower", COUNTED, BOUNDS.get(percent, ()))
    for percent in PERCENTS
}
WARM = 20
WARM_FIRST = 1_000_000

ALL = (OURS, *RIVALS)


def warm_up(session: Session) -> None:
    """Start the workers and let each of them run something."""
    session.start_workers()
    session.do("one_by_one", kind="stamp", count=WARM, first=WARM_FIRST)
    session.wait("the first jobs", lambda: len(session.stamps()) >= WARM)


def latencies(session: Session, instants: Sequence[int]) -> list[float]:
    """Milliseconds from each instant to the start of the job of that number, once all have started."""
    wanted = range(len(instants))

    def all_started() -> bool:
        return session.stamps().keys() >= set(wanted)

    session.wait("the start of every job", all_started, every=0.05)
    stamps = session.stamps()
    return [(stamps[n] - instants[n]) / 1e6 for n in wanted]


def run(bench: Bench) -> list[Row]:
    sizes = bench.sizes

    def measure(session: Session) -> Mapping[str, float]:
        warm_up(session)
        instants = session.do(
            "paced", kind="stamp", count=sizes.start_jobs, per_second=sizes.start_per_second
        )
        found = latencies(session, instants)
        return {METRICS[percent].name: percentile(found, percent) for percent in PERCENTS}

    figures = bench.measure("start", ALL, measure)
    return [figures.row(metric, names(*RIVALS)) for metric in METRICS.values()]


SCENARIO = Scenario("start", "enqueue to start at 20 jobs a second", ALL, run)
