"""The database restarts, goes away, throws everybody out, is full, or is held up."""

from __future__ import annotations

import time

import psycopg
from django.db import connection, transaction

from chaos.faults.base import Fault
from chaos.scene import Scene
from tasks.submit import submit

_END = "SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE backend_type = 'client backend' AND "
OTHERS = f"{_END}pid <> pg_backend_pid()"
OF_THE_PLATFORM = f"{_END}datname <> 'postgres'"


def restart(scene: Scene) -> None:
    """In good order, and by a power cut."""
    with scene.flow():
        scene.rest(2.5)
        scene.servers.postgres.restart()
        scene.rest(7.5)
        scene.servers.postgres.kill()
        scene.servers.postgres.start()
        scene.rest(5)
    scene.fresh()
    scene.settle()
    _nobody_judged(scene)


def _nobody_judged(scene: Scene) -> None:
    pids = {worker.pid for worker in scene.fleet.workers.values()}
    dead, lost = scene.declared_dead(pids), scene.lost_since_begin()
    scene.require(dead == 0, f"{dead} workers that lived were taken for dead")
    scene.require(lost == 0, f"{lost} runs were taken back from workers that lived")


def away(scene: Scene) -> None:
    """Longer than a lease: no mass rescue, no exit, full rate soon after."""
    scene.accepted.many(220, "plain", seconds=0.25)
    scene.until(lambda: _rate(scene), "jobs end")
    began = time.monotonic()
    # Not scaled, like the jobs: what is measured here must not run dry.
    time.sleep(2)
    before = scene.ledger.count("end", began) / (time.monotonic() - began)
    scene.servers.postgres.halt()
    scene.rest(30)
    ready = scene.fleet.web.ready()
    scene.require(ready == 503, f"/health/ready said {ready} while the database was away")
    scene.servers.postgres.start()
    scene.fresh()
    back = time.monotonic()
    full = scene.until(lambda: _rate(scene) >= 0.7 * before and time.monotonic(), "full rate again")
    with scene.flow():
        scene.rest(5)
    scene.settle()
    _nobody_judged(scene)
    if full:
        scene.require(full - back <= 30, f"full rate only after {full - back:.1f} s")
        scene.tell(f"{before:.0f} ends a second before; 70 % of that {full - back:.1f} s after the return")


def _rate(scene: Scene) -> float:
    """Ends in the last second."""
    return scene.ledger.count("end", time.monotonic() - 1)


def terminate(scene: Scene) -> None:
    """Every session, again and again."""
    ended = 0
    with scene.flow():
        for _ in range(6):
            scene.rest(2.5)
            ended += len(scene.sql(OTHERS))
        scene.rest(2.5)
    scene.fresh()
    scene.settle()
    _nobody_judged(scene)
    scene.tell(f"{ended} sessions ended")


def exhaust(scene: Scene) -> None:
    """No connection is left for anybody, for longer than a lease."""
    held: list[psycopg.Connection[tuple[object, ...]]] = []

    def take_all() -> None:
        try:
            while True:
                held.append(psycopg.connect(scene.servers.postgres.url_of("postgres"), autocommit=True))
        except psycopg.OperationalError:
            return

    with scene.flow():
        scene.rest(2.5)
        take_all()
        until = time.monotonic() + scene.scale(20)
        while time.monotonic() < until:
            # Whoever got one of the few that became free in between must not keep it.
            held[0].execute(OF_THE_PLATFORM.encode())
            take_all()
            time.sleep(0.02)
        taken = len(held)
        for session in held:
            session.close()
        scene.rest(5)
    scene.fresh()
    scene.settle()
    _nobody_judged(scene)
    scene.tell(f"{taken} connections held by others")


def hold_transaction(scene: Scene) -> None:
    """An old transaction stays open, with a job in it that nobody may see."""
    scene.accepted.many(200, "packed")
    with scene.flow():
        with transaction.atomic():
            with connection.cursor() as cursor:
                cursor.execute("SET TRANSACTION ISOLATION LEVEL REPEATABLE READ")
                cursor.execute("SELECT pg_current_xact_id()")
            hidden = submit(scene.accepted.request("plain", {"seconds": 0.01})).id
            _flow_on(scene)
            early = scene.ledger.runs({str(hidden)})
        scene.require(not early, "a job ran before its transaction had committed")
    if hidden is not None:
        scene.accepted.jobs.add(hidden)
    scene.settle()


def _flow_on(scene: Scene) -> None:
    """Meanwhile, from another session: more jobs come and end."""
    began = time.monotonic()
    scene.rest(20)
    ended = scene.ledger.count("end", began)
    scene.require(ended >= 20, f"only {ended} jobs ended beside the open transaction")
    scene.tell(f"{ended} jobs ended beside it")


FAULTS = (
    Fault("postgres-restarted", "PostgreSQL restarted, in good order and by a kill", restart),
    Fault("postgres-away", "PostgreSQL away longer than a lease: no rescue, no exit, full rate soon", away),
    Fault("sessions-terminated", "all database sessions terminated, six times", terminate),
    Fault("connections-exhausted", "no database connection left for longer than a lease", exhaust),
    Fault(
        "old-transaction",
        "an old transaction held open: others go on, its job waits for its commit",
        hold_transaction,
    ),
)
