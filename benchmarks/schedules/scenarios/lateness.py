"""A steady load: how late each slot is."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

from benchmarks.bench import Bench
from benchmarks.errors import NotMeasured
from benchmarks.numbers import percentile
from benchmarks.results import Metric, Row
from benchmarks.schedules.commits import Decisions
from benchmarks.schedules.ours.system import OurScheduler
from benchmarks.schedules.scenarios.base import APS, Scenario, names, ours
from benchmarks.schedules.sizes import Sizes
from benchmarks.schedules.watch import Broker, soon, start, until, wait
from benchmarks.session import Session
from benchmarks.systems.base import System

PATIENCE = 30.0
GRACE = 0.9


def _systems(sizes: Sizes) -> tuple[System, ...]:
    return (ours(sizes), APS)


def run(bench: Bench, sizes: Sizes) -> list[Row]:
    once = replace(bench, rounds=1)
    found = once.measure("lateness", _systems(sizes), lambda session: _measure(bench, session, sizes))
    counted = (
        f"{sizes.each_second} schedules of one second, all due at its beginning, for {sizes.lateness} s, one round. "
        f"Ours: from the slot to the commit of its decision and its job, with {sizes.stored:,} more stored. "
        "APScheduler: until the message is in the broker, looked at every 2 ms. The beats plan an interval from when "
        "they last sent, and know no instant to be late against"
    )
    return [
        found.row(
            Metric(f"lateness at {sizes.each_second} slots a second, p{part}", "ms", "lower", counted),
            names(APS),
            key=f"p{part}",
        )
        for part in (50, 99)
    ]


def _measure(bench: Bench, session: Session, sizes: Sizes) -> Mapping[str, float]:
    at = soon(sizes.lead)
    session.do("arm", count=sizes.each_second, at=at, period=1)
    session.settle()
    start(session, deadline=at)
    slots, end = sizes.each_second * sizes.lateness, at + sizes.lateness
    if isinstance(session.system, OurScheduler):
        until(end)
        with Decisions(session) as decisions:
            wait(session, slots, lambda: len(decisions.lateness(at, end)), end + PATIENCE)
            late = decisions.lateness(at, end)
    else:
        with Broker(session, bench.stage) as broker:
            until(at - 0.05)
            came = broker.arrivals(end - 1 + GRACE)
        if len(came) != slots:
            raise NotMeasured(f"{len(came):,} messages of {slots:,} slots")
        late = [instant - (at + n // sizes.each_second) for n, instant in enumerate(came)]
    if len(late) != slots:
        raise NotMeasured(f"{len(late):,} decisions of {slots:,} slots")
    return {f"p{part}": percentile(late, part) * 1000 for part in (50, 99)}


SCENARIO = Scenario("lateness", "how late slots are at a steady load", _systems, run)
