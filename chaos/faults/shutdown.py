"""Deploys under load."""

from __future__ import annotations

from chaos.faults.base import Fault
from chaos.scene import Scene
from tasks.models import Job


def rolling_restart(scene: Scene) -> None:
    """Each worker is asked to end by SIGTERM while jobs flow, and replaced."""
    codes = []
    with scene.flow():
        for name in ("a", "b"):
            scene.accepted.many(6, "polite", seconds=scene.scale(20))
            scene.rest(2.5)
            codes += scene.fleet.leave([name])
            scene.fleet.start(name)
    scene.settle()
    scene.require(codes == [0, 0], f"exit codes {codes}")
    charged = Job.objects.filter(user_id=scene.name).exclude(crashes=0, losses=0).count()
    scene.require(charged == 0, f"{charged} jobs were charged for a deploy")
    scene.require(scene.lost_since_begin() == 0, "runs were lost")


FAULTS = (
    Fault("rolling-restart", "SIGTERM and a new worker, one after the other, under load", rolling_restart),
)
