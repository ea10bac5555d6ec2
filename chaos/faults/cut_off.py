"""One worker is cut off from the database; everybody else is well."""

from __future__ import annotations

from collections.abc import Callable

from chaos.faults.base import Fault
from chaos.scene import Scene
from jobsplatform.kernel.models import Process


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
        scene.accepted.many(6, "polite", seconds=scene.scale(20))
        scene.rest(5)
        cut()
        try:
            scene.until(
                lambda: Process.objects.filter(id=before, lost_at__isnull=False).exists(),
                "the others take the worker for dead",
            )
            scene.rest(10)
        finally:
            scene.servers.to_postgres.pass_again()
        scene.until(lambda: worker.process_id != before, "it goes on as a new worker")
    scene.settle()
    scene.require(scene.declared_dead({scene.fleet.workers["b"].pid}) == 0, "the wrong worker was judged")
    scene.require(bool(worker.events("worker.cut_off")), "the worker did not say that it is cut off")


FAULTS = (
    Fault("worker-cut-off", "one worker's database connections broken and refused: others take over", broken),
    Fault(
        "worker-cut-off-silently",
        "one worker's database connections swallow everything: others take over",
        silent,
    ),
)
