"""Many schedules due at one instant: until all are sent."""

from __future__ import annotations

from collections.abc import Mapping

from benchmarks.bench import Bench
from benchmarks.errors import NotMeasured
from benchmarks.results import Bound, Metric, Row
from benchmarks.schedules.commits import Decisions
from benchmarks.schedules.ours.system import OurScheduler
from benchmarks.schedules.scenarios.base import RIVALS, Scenario, names, our_beat, ours
from benchmarks.schedules.sizes import Sizes
from benchmarks.schedules.watch import Broker, TooSlow, soon, start, until, wait
from benchmarks.session import Session
from benchmarks.systems.base import System

TARGET = (10_000, 5.0)
"""So many are decided within so many seconds."""

PERIOD = 86_400
LEAD_EACH = 0.0007
REPEATED = 12.0
"""A measurement, with its preparation, of a rival that took longer is made in one round only: a run stays short."""


def _systems(sizes: Sizes, *, beat: bool = True) -> tuple[System, ...]:
    return (ours(sizes), *([our_beat(sizes)] if beat else []), *RIVALS)


def metric(count: int, sizes: Sizes, how: str = "") -> Metric:
    bounds = (Bound("<=", TARGET[1]),) if count == TARGET[0] else ()
    return Metric(
        f"{count:,} due at one instant, all sent{how}",
        "s",
        "lower",
        "from the due instant until all are sent. Ours: the last decision and its job are committed, by the database's "
        f"own note of that, with {sizes.stored:,} more schedules stored. The others hold no more than those that are "
        f"due: until their last message is in the broker, looked at every 3 ms, at most {sizes.cut:g} s. What took a "
        "rival long is measured in one round only",
        bounds,
    )


def run(bench: Bench, sizes: Sizes) -> list[Row]:
    late: dict[str, int] = {}
    rows = []
    for count in sizes.due:

        def measure(session: Session, count: int = count) -> Mapping[str, float]:
            return _measure(bench, session, count, sizes, late)

        last = count == sizes.due[-1]
        found = bench.measure(f"{count:,} due", _systems(sizes, beat=last), measure, repeated=REPEATED)
        rows.append(found.row(metric(count, sizes), names(*RIVALS), key="seconds"))
        if last:
            beat = metric(count, sizes, ", by our beat and a worker")
            rows.append(found.row(beat, (), ours=our_beat(sizes).name, key="seconds"))
    return rows


def _measure(
    bench: Bench, session: Session, count: int, sizes: Sizes, late: dict[str, int]
) -> Mapping[str, float]:
    name = session.system.name
    if name in late:
        raise NotMeasured(f"not tried: {late[name]:,} were not sent within {sizes.cut:g} s")
    at = soon(sizes.lead + LEAD_EACH * count)
    session.do("arm", count=count, at=at, period=PERIOD)
    session.settle()
    start(session, deadline=at)
    until(at)
    try:
        return {"seconds": _sent(bench, session, count, at, at + sizes.cut)}
    except TooSlow as error:
        late[name] = count
        raise NotMeasured(f"not within {sizes.cut:g} s: {error}") from None


def _sent(bench: Bench, session: Session, count: int, at: float, deadline: float) -> float:
    if not isinstance(session.system, OurScheduler):
        with Broker(session, bench.stage) as broker:
            return broker.wait(count, deadline) - at
    with Decisions(session) as decisions:
        wait(session, count, lambda: decisions.fired(at), deadline)
        if (jobs := decisions.jobs(at)) != count:
            raise NotMeasured(f"{jobs:,} jobs of {count:,} slots")
        return decisions.last_commit(at) - at


SCENARIO = Scenario("due", "many schedules due at one instant, until all are sent", _systems, run)
