"""Jobs created over the bus, on one web process."""

from __future__ import annotations

from collections.abc import Mapping

from benchmarks.bench import Bench
from benchmarks.live.ours.system import OurWeb
from benchmarks.live.scenarios.base import Scenario, open_site
from benchmarks.live.sizes import Sizes
from benchmarks.results import Bound, Metric, Row
from benchmarks.session import Session

OURS = OurWeb()
ONE = Metric(
    "jobs.create", "jobs/s", "higher", "calls of several connections that stay open", (Bound(">=", 400),)
)
MANY = Metric("jobs.create_many, 100 in a call", "jobs/s", "higher", ONE.counted, (Bound(">=", 5_000),))


def run(bench: Bench, sizes: Sizes) -> list[Row]:
    def measure(session: Session) -> Mapping[str, float]:
        open_site(session)
        return {
            ONE.name: session.do("call", count=sizes.creates, callers=sizes.callers, batch=1),
            MANY.name: session.do("call", count=sizes.batches, callers=sizes.callers, batch=sizes.batch),
        }

    figures = bench.measure("bus", (OURS,), measure)
    return [figures.row(ONE, ()), figures.row(MANY, ())]


SCENARIO = Scenario("bus", "jobs created over the bus, one by one and in batches", (OURS,), run)
