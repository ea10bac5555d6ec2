"""Processes die."""

from __future__ import annotations

import os
import signal
from uuid import UUID

from chaos.faults.base import Fault
from chaos.scene import Scene
from tasks.models import Job
from tasks.states import State

VICTIM = 15
"""Seconds, unscaled, that a job works whose process is killed: it is far from its end then."""


def kill_children(scene: Scene) -> None:
    """SIGKILL processes of the pools, one after the other, each in the middle of a job."""
    victims = []
    with scene.flow():
        for _ in range(4):
            victims.append(scene.accepted.one("polite", seconds=scene.scale(VICTIM)))
            pid = scene.until(lambda: busy_child(scene, victims[-1]), "a process works on the job")
            if pid is None:
                break
            os.kill(pid, signal.SIGKILL)
            scene.rest(1)
    scene.settle()
    again = sum(len(runs) > 1 for runs in scene.ledger.runs({str(job_id) for job_id in victims}).values())
    scene.require(again == 4, f"{again} of 4 jobs whose process was killed ran again")
    scene.tell(f"4 killed, {again} of their jobs ran again")


def busy_child(scene: Scene, job_id: UUID) -> int | None:
    """The pool process that works on a job right now, by the file."""
    alive = {child.pid for worker in scene.fleet.workers.values() for child in worker.children}
    runs = scene.ledger.runs({str(job_id)}).get(str(job_id), [])
    return next((run.last.pid for run in runs if run.unfinished and run.last.pid in alive), None)


def kill_worker(scene: Scene) -> None:
    """SIGKILL a worker with 20 running jobs."""
    go = scene.servers.folder / f"{scene.name}.go"
    gates = scene.accepted.many(20 + 8, "gate", go=str(go))
    big = scene.fleet.workers["big"]
    mine = scene.until(lambda: big.process_id, "the worker has a row")

    def busy() -> bool:
        victims = running(scene, mine)
        return len(victims) == 20 and len(scene.ledger.runs({str(job_id) for job_id in victims})) == 20

    scene.until(busy, "20 jobs run")
    with scene.flow():
        victims = running(scene, mine)
        big.send(signal.SIGKILL)
        big.process.wait()
        scene.until(lambda: not running(scene, mine), "its jobs are taken back")
        go.touch()
    scene.settle()
    scene.fleet.kill("big")
    losses = [scene.job(job_id).losses for job_id in victims]
    scene.require(sum(losses) <= 20, f"losses counted: {losses}")
    scene.tell(f"{len(victims)} running, all run again elsewhere")
    scene.require(len(victims) == 20, f"{len(victims)} jobs ran, not 20")
    again = sum(len(scene.ledger.runs({str(job_id)})[str(job_id)]) > 1 for job_id in victims)
    scene.require(again == 20, f"{again} of 20 ran again")
    scene.require(
        all(scene.job(job_id).state == State.COMPLETED for job_id in gates), "a gate did not complete"
    )


def running(scene: Scene, process_id: UUID | None) -> list[UUID]:
    """The gates that run on a worker, by their rows."""
    rows = Job.objects.filter(worker_id=process_id, state=State.RUNNING, job_type="chaos.gate")
    return list(rows.values_list("id", flat=True))


FAULTS = (
    Fault("child-killed", "a pool process killed at random: its job is back at once", kill_children),
    Fault(
        "worker-killed",
        "a worker killed with 20 running: others run them again",
        kill_worker,
        ("a", "b", "big"),
    ),
)
