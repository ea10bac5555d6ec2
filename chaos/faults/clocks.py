"""Clocks that are wrong."""

from __future__ import annotations

from chaos.faults.base import Fault
from chaos.fleet import ODD
from chaos.scene import Scene


def wrong_clocks(scene: Scene) -> None:
    """Two workers ten minutes fast and slow, beside two that are right: nothing starts early, nobody is judged."""
    with scene.flow(ODD), scene.flow():
        scene.rest(30)
    scene.settle()
    pids = {worker.pid for worker in scene.fleet.workers.values()}
    scene.require(scene.declared_dead(pids) == 0, "a worker that lives was taken for dead")
    scene.require(scene.lost_since_begin() == 0, "runs were taken back")
    scene.tell(f"{len(scene.accepted.due)} jobs due later, none early")


FAULTS = (
    Fault(
        "clock-wrong",
        "workers with clocks ±10 minutes: nothing starts early, nothing is rescued",
        wrong_clocks,
        ("a", "b", "fast", "slow"),
    ),
)
