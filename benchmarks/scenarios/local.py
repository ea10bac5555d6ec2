"""The local profile: everything in one process, on SQLite."""

from __future__ import annotations

import time
from collections.abc import Mapping

from benchmarks.bench import Bench
from benchmarks.errors import NotMeasured
from benchmarks.numbers import percentile
from benchmarks.results import Bound, Metric, Row
from benchmarks.scenarios.base import Scenario
from benchmarks.session import Session
from benchmarks.systems.ours.system import Local

LOCAL = Local()

DRAIN = Metric(
    "local profile: drain",
    "jobs/s",
    "higher",
    "jobs completed on record, over a window that begins after the first hundredth of the backlog",
    (Bound(">=", 1000),),
)
QUIET = Metric(
    "local profile: enqueue, p95",
    "ms",
    "lower",
    "calls of another process one by one, the platform running and at rest (the jobs are for later)",
    (Bound("<=", 3),),
)
BUSY = Metric(
    "local profile: enqueue while jobs run, p95",
    "ms",
    "lower",
    "calls of another process one by one, the platform working them off at the same time",
)


def run(bench: Bench) -> list[Row]:
    sizes = bench.sizes

    def measure(session: Session) -> Mapping[str, float]:
        session.do("prepare")
        session.do("fill", kind="noop", count=sizes.local_backlog)
        session.start_workers()
        rate = _rate(session, sizes.local_backlog, sizes.window)
        session.do("clear")
        time.sleep(sizes.rest)
        quiet = session.do("one_for_later", count=sizes.local_enqueues)
        busy = session.do("one_by_one", kind="noop", count=sizes.local_enqueues)
        return {
            DRAIN.name: rate,
            QUIET.name: percentile(quiet, 95) * 1000,
            BUSY.name: percentile(busy, 95) * 1000,
        }

    figures = bench.measure("local", (LOCAL,), measure)
    return [figures.row(metric, ()) for metric in (DRAIN, QUIET, BUSY)]


def _rate(session: Session, backlog: int, window: float) -> float:
    warm = max(10, backlog // 100)
    session.wait("the first jobs", lambda: session.ran() >= warm, every=0.002)
    began, done = time.monotonic(), session.do("completed")
    session.wait(
        "the end of the window", lambda: session.ran() >= backlog or time.monotonic() - began >= window
    )
    if session.ran() >= backlog:
        session.wait("every job's end on record", lambda: session.do("completed") >= backlog)
    after = session.do("completed")
    ended = time.monotonic()
    if after <= done:
        raise NotMeasured(f"the backlog of {backlog} was gone before the measurement began, or nothing ran")
    return float((after - done) / (ended - began))


SCENARIO = Scenario("local", "the local profile on SQLite", (LOCAL,), run)
