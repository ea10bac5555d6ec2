"""The database goes away under a worker: it claims nothing, judges nobody, and exits when that lasts."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Callable, Iterator

import psycopg
import pytest

from tests.flows.processes import ROOT, Worker, until
from tests.services import PostgresServer, start_postgres

pytestmark = pytest.mark.flow


@pytest.fixture(scope="module")
def own_postgres(environment: dict[str, str]) -> Iterator[PostgresServer]:
    """A server that may be stopped: nobody else works on it."""
    with start_postgres() as server:
        subprocess.run(
            [sys.executable, "manage.py", "migrate", "-v0"],
            env={**environment, "DATABASE_URL": server.url},
            cwd=ROOT,
            check=True,
        )
        yield server


def processes(server: PostgresServer) -> list[tuple[bool, bool]]:
    """Of each incarnation: has it stopped, was it declared lost?"""
    with psycopg.connect(server.url) as session:
        rows = session.execute("SELECT stopped_at, lost_at FROM kernel_process WHERE role = 'worker'")
        return [(stopped is not None, lost is not None) for stopped, lost in rows]


def test_an_outage_is_survived_and_a_long_one_ends_the_worker(
    start_worker: Callable[..., Worker], own_postgres: PostgresServer
) -> None:
    settings = {"DATABASE_URL": own_postgres.url, "TASKS__CUTOFF_EXIT_SECONDS": "12"}
    workers = [start_worker("-c", "1", "-n", f"{name}@host", **settings) for name in "ab"]
    own_postgres.halt()
    for worker in workers:
        until(lambda worker=worker: worker.events("worker.cut_off"))  # type: ignore[misc]
    own_postgres.start()

    def both_alive() -> bool:
        return processes(own_postgres) == [(False, False), (False, False)] and all(
            "works again" in worker.output for worker in workers
        )

    until(both_alive)

    own_postgres.halt()
    for worker in workers:
        assert worker.exit_code() == 1
        assert worker.events("worker.exits")
    own_postgres.start()
