"""The broker forgets, restarts, goes away, repeats itself, falls silent."""

from __future__ import annotations

from uuid import UUID

from chaos.faults.base import Fault
from chaos.fleet import ODD
from chaos.ledger import Run
from chaos.scene import Scene
from chaos.twists import COPIES


def flush(scene: Scene) -> None:
    """FLUSHALL again and again while 1,000 jobs are pending or dispatched."""
    client = scene.servers.redis.client()
    scene.accepted.many(700, "packed")
    scene.accepted.many(300, "plain", seconds=0.02)
    with scene.flow():
        count = 0
        while scene.open() > 100 and count < 12:
            client.flushall()
            count += 1
            scene.rest(1.5)
    scene.settle()
    client.close()
    scene.tell(f"{count} times")
    _all_accepted(scene)


def _all_accepted(scene: Scene) -> None:
    scene.require(
        scene.accepted.refused == 0, f"{scene.accepted.refused} submissions failed for want of a broker"
    )


def restart(scene: Scene) -> None:
    """In good order, and by a power cut."""
    with scene.flow():
        scene.rest(2.5)
        scene.servers.redis.restart()
        scene.rest(5)
        scene.servers.redis.kill()
        scene.servers.redis.start()
        scene.rest(2.5)
    scene.settle()
    _all_accepted(scene)


def away(scene: Scene) -> None:
    """For 30 s."""
    with scene.flow():
        scene.rest(2.5)
        scene.servers.redis.halt()
        scene.rest(30)
        scene.servers.redis.start()
        scene.rest(2.5)
    scene.settle()
    _all_accepted(scene)
    scene.require(scene.lost_since_begin() == 0, "runs were lost")


def repeat(scene: Scene) -> None:
    """Every message five times."""
    long = scene.accepted.many(4, "polite", queue=ODD, seconds=scene.scale(10))
    with scene.flow(ODD):
        scene.rest(15)
    scene.settle()
    found = scene.ledger.deliveries()
    counts = [len(found.get((str(job_id), run.lease), [])) for job_id in long for run in _runs(scene, job_id)]
    scene.require(
        bool(counts) and min(counts) >= COPIES, f"messages of long jobs were delivered {counts} times"
    )
    scene.tell(f"{len(found)} messages, {sum(map(len, found.values()))} deliveries")


def _runs(scene: Scene, job_id: UUID) -> list[Run]:
    return scene.ledger.runs({str(job_id)}).get(str(job_id), [])


def short_visibility(scene: Scene) -> None:
    """Messages come back after a second, to jobs that run longer."""
    ids = scene.accepted.many(3, "plain", queue=ODD, seconds=scene.scale(20))
    with scene.flow(ODD):
        scene.rest(15)
    scene.settle()
    found, again = scene.ledger.deliveries(), 0
    for job_id in ids:
        runs = _runs(scene, job_id)
        scene.require(len(runs) == 1, f"long job {job_id} ran {len(runs)} times")
        for run in runs:
            times = [line.at for line in found.get((run.job, run.lease), [])]
            again += sum(run.first.at < at < run.last.at for at in times)
    scene.require(again > 0, "no message came back while its job ran: the fault did not strike")
    scene.tell(f"{again} messages came back while their job ran")


def frozen_socket(scene: Scene) -> None:
    """The sockets to one worker's broker freeze: it is alive and hears nothing. The watchdog ends it."""
    worker = scene.fleet.workers["deaf"]
    with scene.flow():
        scene.rest(2.5)
        scene.servers.to_redis.freeze(new_too=False)
        try:
            code = scene.until(worker.process.poll, "the watchdog ends the deaf worker")
        finally:
            scene.servers.to_redis.pass_again()
        scene.require(code == 1, f"the deaf worker ended with {code}")
        scene.require(bool(worker.events("worker.exits")), "the worker did not say why it ends")
        scene.fleet.muster(["b", "deaf"])
    scene.settle()
    scene.tell("ended by its watchdog, started again")


FAULTS = (
    Fault("redis-flushed", "FLUSHALL again and again with 1,000 jobs pending or dispatched", flush),
    Fault("redis-restarted", "Redis restarted, in good order and by a kill", restart),
    Fault("redis-away", "Redis away for 30 s: jobs wait, enqueueing goes on", away),
    Fault(
        "delivered-five-times",
        "every message delivered five times: each run starts once",
        repeat,
        ("a", "b", "fast", "slow"),
    ),
    Fault(
        "short-visibility",
        "messages come back after a second, while their job runs: it runs once",
        short_visibility,
        ("a", "b", "fast", "slow"),
    ),
    Fault(
        "broker-frozen",
        "a worker's broker sockets frozen: its watchdog ends it, others go on",
        frozen_socket,
        ("b", "deaf"),
    ),
)
