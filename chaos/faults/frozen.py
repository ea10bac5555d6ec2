"""Processes stop for longer than a lease, and go on."""

from __future__ import annotations

import time
from collections.abc import Callable
from pathlib import Path
from tempfile import mkdtemp
from uuid import UUID

from chaos.faults.base import Fault
from chaos.fleet import family, freeze, thaw
from chaos.scene import Scene
from jobsplatform.kernel.models import Process
from tests.flows.processes import Worker

LONG = 20
"""Seconds, unscaled, that those work who run a frozen job again: they are not done when its first run goes on and
writes."""


LEASE = 15
"""Seconds, unscaled."""


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
        gates = Path(mkdtemp(prefix="gates-", dir=scene.servers.folder))
        deaf = scene.accepted.many(8, "deaf", go=str(gates), seconds=scene.scale(LONG))
        mine = scene.until(lambda: _works(scene, worker, deaf), "the worker has work") or []
        pids = whom(worker)
        frozen_at = time.monotonic()
        freeze(pids)
        # The other worker's slots are wanted for the frozen jobs.
        _open(gates, [job_id for job_id in deaf if job_id not in mine])
        try:
            scene.until(
                lambda: Process.objects.filter(id=before, lost_at__isnull=False).exists(),
                "the frozen worker is taken for dead",
            )
            scene.until(lambda: _taken_over(scene, mine), "another worker runs one of its jobs")
        finally:
            # The children first: their late writes come before their parent learns what has happened.
            _open(gates, mine)
            thaw(pids[1:])
            scene.until(
                lambda: _over(scene, mine, frozen_at), "its runs go on, or have gone on, to their ends"
            )
            thaw(pids[:1])
        scene.until(lambda: worker.process_id != before, "it goes on as a new worker")
    scene.settle()
    late = scene.fleet.web.rejects() - refused
    scene.require(late > 0, "no late write was refused and counted")
    scene.tell(f"{late} late writes refused")


def _open(gates: Path, jobs: list[UUID]) -> None:
    for job_id in jobs:
        (gates / str(job_id)).touch()


def _works(scene: Scene, worker: Worker, jobs: list[UUID]) -> list[UUID]:
    """The deaf long jobs that run on the worker."""
    children = {child.pid for child in worker.children}
    runs = [run for found in scene.ledger.runs({str(job_id) for job_id in jobs}).values() for run in found]
    return [UUID(run.job) for run in runs if run.unfinished and run.last.pid in children]


def _taken_over(scene: Scene, jobs: list[UUID]) -> bool:
    """Whether one of these jobs runs again: the late write of its first run then meets a run that is not over."""
    return any(len(runs) > 1 for runs in scene.ledger.runs({str(job_id) for job_id in jobs}).values())


def _over(scene: Scene, jobs: list[UUID], since: float) -> bool:
    """Whether some first run of these jobs has come to its end since then: it writes that, whoever has its job now."""
    found = scene.ledger.runs({str(job_id) for job_id in jobs}).values()
    return any(runs[0].ended and runs[0].last.at > since for runs in found)


def freeze_child(scene: Scene) -> None:
    """One process of the pool: its worker's heart beats, so nobody takes its job."""
    with scene.flow():
        job_id = scene.accepted.one("polite", seconds=scene.scale(LONG / 2))
        first = scene.until(lambda: scene.ledger.runs({str(job_id)}).get(str(job_id)), "the job runs")
        run = first[0] if first else None
        pids = [run.first.pid] if run else []
        freeze(pids)
        # Two leases: who judges jobs by their age has looked at this one meanwhile, however rarely it looks.
        scene.rest(2 * LEASE)
        thaw(pids)
    scene.settle()
    taken = scene.lost_since_begin()
    scene.require(taken == 0, f"{taken} runs were taken from a worker whose heart beats")
    kept = run is not None and scene.job(job_id).lease == run.lease
    scene.require(kept, "the frozen job was given to somebody else")


FAULTS = (
    Fault(
        "parent-frozen",
        "a worker's main process stopped past its lease, then on: late writes refused",
        freeze_parent,
    ),
    Fault("child-frozen", "a pool process stopped past the lease: its job stays its own", freeze_child),
    Fault("worker-frozen", "a whole worker stopped past its lease, then on: late writes refused", freeze_all),
)
