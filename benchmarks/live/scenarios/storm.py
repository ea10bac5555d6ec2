"""What it costs the workers that many jobs report all the time and somebody looks on."""

from __future__ import annotations

import time
from collections.abc import Mapping

from benchmarks.bench import Bench
from benchmarks.errors import NotMeasured
from benchmarks.live.ours.system import OurWeb
from benchmarks.live.scenarios.base import Scenario, open_site
from benchmarks.live.sizes import Sizes
from benchmarks.results import Bound, Metric, Row
from benchmarks.session import Session

THREADS = 60
"""For the fifty that report, and those that a worker keeps free for urgent jobs."""

STORM = OurWeb("ours", drains=True, threads=THREADS)
SILENT = OurWeb("the same without a report", drains=True, threads=THREADS)
ALONE = OurWeb("drain alone", drains=True, threads=THREADS)
RATE = Metric(
    "drain while 50 jobs report 20 times a second and a page looks on",
    "jobs/s",
    "higher",
    "no-op jobs on two worker processes, beside 50 jobs that report on 60 threads of another worker, all on one "
    "machine. Without a report: the 50 jobs run and wait as often, and the page looks on. Drain alone: neither they "
    "nor a page",
    (Bound(">=", 0.95, SILENT.name),),
)


def _rate(session: Session, sizes: Sizes) -> float:
    """Runs a second in a window of time; by the handlers' own file, which says nothing of the jobs that report."""
    began, before = time.monotonic(), session.ran()
    ended = session.wait(
        "the end of the window",
        lambda: session.ran() >= sizes.backlog or time.monotonic() - began >= sizes.window,
        every=0.005,
    )
    if session.ran() == before:
        raise NotMeasured(f"the backlog of {sizes.backlog} was gone before the measurement began")
    return (session.ran() - before) / (ended - began)


def run(bench: Bench, sizes: Sizes) -> list[Row]:
    def measure(session: Session) -> Mapping[str, float]:
        beside = session.system is not ALONE
        session.do("fill", kind="noop", count=sizes.backlog)
        if beside:
            session.do("storm", count=sizes.storm_jobs, silent=session.system is SILENT)
        open_site(session)
        if beside:
            session.do("look", pages=1, topic="type::bench.report")
            session.do("storming", count=sizes.storm_jobs)
        session.wait("the first jobs", lambda: session.ran() > sizes.backlog // 100)
        found = _rate(session, sizes)
        session.do("calm")
        return {"rate": found}

    figures = bench.measure("storm", (STORM, SILENT, ALONE), measure)
    return [figures.row(RATE, (SILENT.name, ALONE.name), key="rate")]


SCENARIO = Scenario("storm", "drain while many jobs report progress", (STORM, SILENT, ALONE), run)
