"""What a fire costs with a great many schedules stored, and with few."""

from __future__ import annotations

from collections.abc import Mapping

from benchmarks.bench import Bench
from benchmarks.processes import cpu_seconds
from benchmarks.results import Bound, Metric, Row
from benchmarks.schedules.commits import Decisions
from benchmarks.schedules.ours.system import OurScheduler
from benchmarks.schedules.scenarios.base import Scenario, ours
from benchmarks.schedules.sizes import Sizes
from benchmarks.schedules.watch import database_cpu, soon, start, until, wait
from benchmarks.session import Session
from benchmarks.systems.base import System

MOST = 1.5
PATIENCE = 60.0


def _few(sizes: Sizes) -> OurScheduler:
    return OurScheduler(0, f"among {sizes.few:,}")


def _systems(sizes: Sizes) -> tuple[System, ...]:
    return (ours(sizes), _few(sizes))


def run(bench: Bench, sizes: Sizes) -> list[Row]:
    few = _few(sizes)
    metric = Metric(
        f"CPU of a fire among {sizes.stored:,}",
        "µs",
        "lower",
        f"user and system time of the scheduler process and of all of PostgreSQL, while {sizes.few:,} schedules fire "
        f"{sizes.cost_slots} times, {sizes.cost_period} s apart (after a first time, which is not counted); beside "
        f"{sizes.stored:,} stored ones that are not due, and alone",
        (Bound("<=", MOST, few.name),),
    )

    def measure(session: Session) -> Mapping[str, float]:
        at = soon(sizes.lead)
        session.do("arm", count=sizes.few, at=at, period=sizes.cost_period)
        session.settle()
        start(session, deadline=at)
        with Decisions(session) as decisions:
            wait(session, sizes.few, lambda: decisions.fired(at), at + PATIENCE)
            first = at + sizes.cost_period
            until(first - sizes.cost_period / 3)
            before, fired = _cpu(bench, session), decisions.fired(at)
            until(first + (sizes.cost_slots - 1) * sizes.cost_period)
            wait(session, fired + sizes.few * sizes.cost_slots, lambda: decisions.fired(at), at + PATIENCE)
            used, fires = _cpu(bench, session) - before, decisions.fired(at) - fired
        return {"cpu": used / fires * 1e6}

    return [bench.measure("cost", _systems(sizes), measure).row(metric, [few.name], key="cpu")]


def _cpu(bench: Bench, session: Session) -> float:
    return cpu_seconds(session.workers) + database_cpu(bench.stage)


SCENARIO = Scenario("cost", "CPU of a fire with many and with few schedules stored", _systems, run)
