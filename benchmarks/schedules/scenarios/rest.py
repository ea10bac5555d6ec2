"""A scheduler with nothing to do: its CPU, its memory, and how soon it sees an edit."""

from __future__ import annotations

import time
from collections.abc import Mapping
from dataclasses import replace
from statistics import median

from benchmarks.bench import Bench, Figures
from benchmarks.processes import cpu_seconds, main_memory
from benchmarks.results import Bound, Metric, Row
from benchmarks.schedules.commits import Decisions
from benchmarks.schedules.ours.system import OurScheduler
from benchmarks.schedules.scenarios.base import APS, BEAT, DATABASE, REDBEAT, RIVALS, Scenario, names, ours
from benchmarks.schedules.sizes import Sizes
from benchmarks.schedules.watch import Broker, start
from benchmarks.session import Session
from benchmarks.systems.base import System

EDITED = (DATABASE, REDBEAT)
"""Those whose schedules another process can edit."""

SEEN_WITHIN = 1.0
EDIT_PATIENCE = 60.0


def _systems(sizes: Sizes) -> tuple[System, ...]:
    return (ours(sizes), *RIVALS)


def run(bench: Bench, sizes: Sizes) -> list[Row]:
    once = replace(bench, rounds=1)
    found = once.measure("rest", _systems(sizes), lambda session: _measure(bench, session, sizes))
    return [
        found.row(_metric("idle scheduler", "CPU s a minute", _IDLE, sizes), names(*RIVALS), key="idle"),
        found.row(_metric("idle scheduler, memory", "MiB", _MEMORY, sizes), names(*RIVALS), key="memory"),
        _edit_row(found, "edit to seen, p50", "p50", sizes),
        _edit_row(found, "edit to seen, the longest", "longest", sizes),
    ]


_IDLE = "user and system time of the scheduler's processes over {idle:g} s in which nothing is due, one round"
_MEMORY = "resident memory of the scheduler's main process, shared pages included, after that"
_EDIT = (
    "{edits} edits of ours, {rival_edits} of a rival, one after the other in another process, each making a schedule "
    "due at once. Ours: from the edit's commit to the decision's, both by the database's own note. The others: until "
    "the message is in the broker. Celery beat and APScheduler know of no edits from another process"
)
_HOLDS = ". Ours holds {stored:,} schedules, the others {held:,}"


def _metric(name: str, unit: str, counted: str, sizes: Sizes, *bounds: Bound) -> Metric:
    words = (counted + _HOLDS).format(
        idle=sizes.idle,
        edits=sizes.edits,
        rival_edits=sizes.rival_edits,
        stored=sizes.stored,
        held=sizes.held,
    )
    return Metric(name, unit, "lower", words, bounds)


def _edit_row(found: Figures, name: str, key: str, sizes: Sizes) -> Row:
    return found.row(_metric(name, "s", _EDIT, sizes, Bound("<=", SEEN_WITHIN)), names(*EDITED), key=key)


def _measure(bench: Bench, session: Session, sizes: Sizes) -> Mapping[str, float]:
    if isinstance(session.system, OurScheduler):
        session.do("editable", count=sizes.edits)
    else:
        session.do("hold", count=sizes.held)
    session.settle()
    start(session)
    used = cpu_seconds(session.workers)
    began = time.monotonic()
    time.sleep(sizes.idle)
    used = cpu_seconds(session.workers) - used
    figures = {
        "idle": used / (time.monotonic() - began) * 60,
        "memory": main_memory(session.workers[0]),
    }
    if session.system in (BEAT, APS):
        return figures
    seen = _edits(bench, session, sizes)
    return {**figures, "p50": median(seen), "longest": max(seen)}


def _edits(bench: Bench, session: Session, sizes: Sizes) -> list[float]:
    if isinstance(session.system, OurScheduler):
        with Decisions(session) as decisions:
            return [_our_edit(session, decisions, number) for number in range(sizes.edits)]
    with Broker(session, bench.stage) as broker:
        return [_their_edit(session, broker, number) for number in range(sizes.rival_edits)]


def _our_edit(session: Session, decisions: Decisions, number: int) -> float:
    session.do("edit", number=number)
    found: list[float] = []

    def look() -> bool:
        found.extend(each for each in [decisions.edit_seen(f"bench-edit-{number}")] if each is not None)
        return bool(found)

    session.wait("the decision after an edit", look, EDIT_PATIENCE, every=0.05)
    return found[0]


def _their_edit(session: Session, broker: Broker, number: int) -> float:
    before = broker.count()
    edited = float(session.do("edit", number=number))
    return broker.wait(before + 1, edited + EDIT_PATIENCE) - edited


SCENARIO = Scenario("rest", "idle CPU, memory, and an edit until it is seen", _systems, run)
