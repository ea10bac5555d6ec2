"""Processes stop for longer than a lease, and go on."""

from __future__ import annotations

from collections.abc import Callable
from uuid import UUID

from chaos.faults.base import Fault
from chaos.fleet import family, freeze, thaw
from chaos.scene import Scene
from jobsplatform.kernel.models import Process
from tests.flows.processes import Worker

LONG = 20
"""Seconds, unscaled: longer than a lease, and not over when the process goes on."""


def freeze_parent(scene: Scene) -> None:
    """The main process alone: its children work on, and are no longer believed."""
    _freeze_past_lease(scene, lambda worker: [worker.pid])


def freeze_all(scene: Scene) -> None:
    """The whole worker."""
    _freeze_past_lease(scene, family)


def _freeze_past_lease(scene: Scene, whom: Callable[[Worker], list[int]]) -> None:
    worker = scene.fleet.workers["a"]
    before = worker.process_id
    refused = scene.fleet.web.rejects()
    with scene.flow():
        # More than the others' slots, so that some are ours; deaf, so that they write when they are over.
        deaf = scene.accepted.many(8, "plain", seconds=scene.scale(LONG))
        mine = scene.until(lambda: _works(scene, worker, deaf), "the worker has work") or []
        pids = whom(worker)
        freeze(pids)
        try:
            scene.until(
                lambda: Process.objects.filter(id=before, lost_at__isnull=False).exists(),
                "the frozen worker is taken for dead",
            )
            scene.until(lambda: _taken_over(scene, mine), "another worker runs one of its jobs")
        finally:
            thaw(pids)
        scene.until(lambda: worker.process_id != before, "it goes on as a new worker")
    scene.settle()
    late = scene.fleet.web.rejects() - refused
    scene.require(late > 0, "no late write was refused and counted")
    scene.tell(f"{late} late writes refused")


def _works(scene: Scene, worker: Worker, jobs: list[UUID]) -> list[UUID]:
    """The deaf long jobs that run on the worker."""
    children = {child.pid for child in worker.children}
    runs = [run for found in scene.ledger.runs({str(job_id) for job_id in jobs}).values() for run in found]
    return [UUID(run.job) for run in runs if run.unfinished and run.last.pid in children]


def _taken_over(scene: Scene, jobs: list[UUID]) -> bool:
    """Whether one of these jobs runs again: the late write of its first run then meets a run that is not over."""
    return any(len(runs) > 1 for runs in scene.ledger.runs({str(job_id) for job_id in jobs}).values())


def freeze_child(scene: Scene) -> None:
    """One process of the pool: its worker's heart beats, so nobody takes its job."""
    with scene.flow():
        job_id = scene.accepted.one("polite", seconds=scene.scale(LONG / 2))
        first = scene.until(lambda: scene.ledger.runs({str(job_id)}).get(str(job_id)), "the job runs")
        pids = [first[0].first.pid] if first else []
        freeze(pids)
        scene.rest(LONG)
        thaw(pids)
    scene.settle()
    taken = scene.lost_since_begin()
    scene.require(taken == 0, f"{taken} runs were taken from a worker whose heart beats")
    scene.require(scene.job(job_id).lease == 1, "the frozen job was given to somebody else")


FAULTS = (
    Fault(
        "parent-frozen",
        "a worker's main process stopped past its lease, then on: late writes refused",
        freeze_parent,
    ),
    Fault("child-frozen", "a pool process stopped past the lease: its job stays its own", freeze_child),
    Fault("worker-frozen", "a whole worker stopped past its lease, then on: late writes refused", freeze_all),
)
