"""One worker is cut off from the database; everybody else is well."""

from __future__ import annotations

import time
from collections.abc import Callable

from chaos.faults.base import Fault
from chaos.scene import Scene
from jobsplatform.kernel.models import Process
from tests.flows.processes import Worker


def broken(scene: Scene) -> None:
    """Its connections break, and new ones are refused."""
    _cut_off(scene, scene.servers.to_postgres.cut)


def silent(scene: Scene) -> None:
    """Its connections stay and no byte passes, as behind a firewall that drops."""
    _cut_off(scene, scene.servers.to_postgres.freeze)


def _cut_off(scene: Scene, cut: Callable[[], None]) -> None:
    worker = scene.fleet.workers["a"]
    before = worker.process_id
    with scene.flow():
        jobs, children = _give_it_work(scene, worker)
        cut()
        at = time.monotonic()
        try:
            scene.until(
                lambda: Process.objects.filter(id=before, lost_at__isnull=False).exists(),
                "the others take the worker for dead",
            )
            judged = time.monotonic()
            scene.rest(10)
            runs = [run for found in scene.ledger.runs(jobs).values() for run in found]
            longest = max(run.last.at - at for run in runs if run.last.pid in children)
            late = at + longest - judged
            scene.require(late <= 0, f"a run of the worker went on for {late:.1f} s after others took over")
            scene.tell(f"its runs stopped {longest:.1f} s after the cut")
        finally:
            scene.servers.to_postgres.pass_again()
        scene.until(lambda: worker.process_id != before, "it goes on as a new worker")
    scene.settle()
    scene.require(scene.declared_dead({scene.fleet.workers["b"].pid}) == 0, "the wrong worker was judged")
    scene.require(bool(worker.events("worker.cut_off")), "the worker did not say that it is cut off")


def _give_it_work(scene: Scene, worker: Worker) -> tuple[set[str], set[int]]:
    """Submit long jobs one by one until the worker has one; these jobs, and the processes of its pool.

    Each has a key of its own, so that two runs of it at the same time are a broken promise.
    """
    children = {child.pid for child in worker.children}
    jobs: set[str] = set()

    def has_some() -> bool:
        jobs.add(str(scene.accepted.one("keyed", key=f"cut-{len(jobs)}", seconds=scene.scale(40))))
        scene.rest(2.5)
        runs = [run for found in scene.ledger.runs(jobs).values() for run in found]
        return any(run.last.pid in children and run.unfinished for run in runs)

    scene.until(has_some, "the worker has work")
    return jobs, children


FAULTS = (
    Fault("worker-cut-off", "one worker's database connections broken and refused: others take over", broken),
    Fault(
        "worker-cut-off-silently",
        "one worker's database connections swallow everything: others take over",
        silent,
    ),
)
