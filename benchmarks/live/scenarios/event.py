"""From the commit of a change to the page."""

from __future__ import annotations

from collections.abc import Mapping

from benchmarks.bench import Bench
from benchmarks.live.ours.system import OurWeb
from benchmarks.live.scenarios.base import Scenario, open_site
from benchmarks.live.sizes import Sizes
from benchmarks.numbers import percentile
from benchmarks.results import Bound, Metric, Row
from benchmarks.session import Session

OURS = OurWeb()
COUNTED = (
    "from after the commit of a job's progress in one process until the frame has been read and parsed in another, by "
    "the machine's one monotonic clock; 25 changes a second, one page, hints over Redis"
)
BOUNDS = {50: (Bound("<=", 30),), 95: (Bound("<=", 100),), 99: ()}
METRICS = {
    percent: Metric(f"commit to page, p{percent}", "ms", "lower", COUNTED, bounds)
    for percent, bounds in BOUNDS.items()
}


def run(bench: Bench, sizes: Sizes) -> list[Row]:
    def measure(session: Session) -> Mapping[str, float]:
        open_site(session)
        session.do("look", pages=1)
        found = session.do("tell", count=sizes.events, per_second=sizes.per_second, listeners=1)
        return {METRICS[percent].name: percentile(found, percent) for percent in METRICS}

    figures = bench.measure("event", (OURS,), measure)
    return [figures.row(metric, ()) for metric in METRICS.values()]


SCENARIO = Scenario("event", "from the commit of a change to the page", (OURS,), run)
