"""A great many pages on one web process, all of which hear the same."""

from __future__ import annotations

from collections.abc import Mapping

from benchmarks.bench import Bench
from benchmarks.live.ours.system import OurWeb
from benchmarks.live.scenarios.base import Scenario, open_site
from benchmarks.live.sizes import Sizes
from benchmarks.numbers import percentile
from benchmarks.processes import main_memory
from benchmarks.results import Metric, Row
from benchmarks.session import Session

OURS = OurWeb()
MS = (
    "one change a second, each to every page: from the commit until a page has it, over all pages and changes"
)
CAME = Metric(
    "pages until all have their snapshot", "s", "lower", "25 more each 20 ms, all by one client process"
)
LATE = {
    percent: Metric(f"commit to each of many pages, p{percent}", "ms", "lower", MS) for percent in (50, 95)
}
MEMORY = Metric("memory of a page", "KiB", "lower", "the web process with all pages less the same with one")


def run(bench: Bench, sizes: Sizes) -> list[Row]:
    def measure(session: Session) -> Mapping[str, float]:
        open_site(session)
        web = session.workers[0]
        session.do("look", pages=1, topic="jobs")
        before = main_memory(web)
        came = session.do("look_more", pages=sizes.sockets)
        memory = (main_memory(web) - before) * 1024 / sizes.sockets
        found = session.do("tell", count=sizes.socket_events, per_second=1, listeners=sizes.sockets)
        late = {LATE[percent].name: percentile(found, percent) for percent in LATE}
        return {CAME.name: came, MEMORY.name: memory, **late}

    figures = bench.measure(f"{sizes.sockets:,} sockets", (OURS,), measure)
    return [figures.row(metric, ()) for metric in (CAME, *LATE.values(), MEMORY)]


SCENARIO = Scenario("sockets", "a thousand pages on one web process", (OURS,), run)
