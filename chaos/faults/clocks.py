"""Clocks that are wrong."""

from __future__ import annotations

import time
from collections.abc import Mapping
from statistics import median

from chaos.faults.base import Fault
from chaos.fleet import ODD
from chaos.ledger import Line
from chaos.scene import Scene
from jobsplatform.kernel import clock
from tasks.models import JobAttempt

WRONG_SECONDS = {"fast": 600.0, "slow": -600.0}

NEAR_SECONDS = 5.0
"""How far a clock that is ten minutes wrong may be off those ten minutes, and a row off the truth."""


def wrong_clocks(scene: Scene) -> None:
    """Two workers ten minutes fast and slow, beside two that are right: nothing starts early, nobody is judged."""
    pids = {worker.pid for worker in scene.fleet.workers.values()}
    homes = {name: {child.pid for child in scene.fleet.workers[name].children} for name in WRONG_SECONDS}
    with scene.flow(ODD), scene.flow():
        scene.rest(15)
        scene.until(
            lambda: all(_skews(scene, home) for home in homes.values()), "each wrong clock runs a job"
        )
        scene.rest(15)
    scene.settle()
    scene.require(scene.declared_dead(pids) == 0, "a worker that lives was taken for dead")
    scene.require(scene.lost_since_begin() == 0, "runs were taken back")
    told = []
    for name, home in homes.items():
        skews = _skews(scene, home)
        right = all(abs(skew - WRONG_SECONDS[name]) < NEAR_SECONDS for skew in skews)
        scene.require(
            right and bool(skews), f"the clock of {name} is off by {skews[:3]}: the fault did not strike"
        )
        told += [f"{median(skews):+.1f} s in {len(skews)} runs"] if skews else []
    off = _rows_off(scene, homes)
    worst = max(map(abs, off), default=0.0)
    scene.require(worst < NEAR_SECONDS, f"the rows of their runs are off by up to {worst:.1f} s")
    scene.tell(f"clocks off by {' and '.join(told)}; starts in {len(off)} rows by {worst:.2f} s at most")
    scene.require(bool(scene.accepted.due), "no job was due later")
    scene.tell(f"{len(scene.accepted.due)} jobs due later, none early")


def _starts(scene: Scene, home: set[int]) -> list[Line]:
    """Where runs began in these processes."""
    runs = [run for found in scene.ledger.runs(scene.accepted.ids()).values() for run in found]
    return [
        run.first
        for run in runs
        if run.first.pid in home and run.first.what == "start" and run.first.note != "-"
    ]


def _skews(scene: Scene, home: set[int]) -> list[float]:
    """How far the machine's clock was off to the handlers in these processes."""
    truth = time.time() - time.monotonic()
    return [float(line.note) - line.at - truth for line in _starts(scene, home)]


def _rows_off(scene: Scene, homes: Mapping[str, set[int]]) -> list[float]:
    """How far the rows say that runs in these processes began before or after they did."""
    clock.current().sync()
    offset = clock.now().timestamp() - time.monotonic()
    lines = {(line.job, line.lease): line.at for home in homes.values() for line in _starts(scene, home)}
    records = JobAttempt.objects.filter(job__user_id=scene.name).values_list("job_id", "lease", "started_at")
    return [
        at.timestamp() - offset - lines[str(job_id), lease]
        for job_id, lease, at in records
        if (str(job_id), lease) in lines
    ]


FAULTS = (
    Fault(
        "clock-wrong",
        "workers with clocks ±10 minutes: nothing starts early, nothing is rescued",
        wrong_clocks,
        ("a", "b", "fast", "slow"),
    ),
)
