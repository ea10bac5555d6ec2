"""PgQueuer, two worker processes."""

from __future__ import annotations

from benchmarks.systems.base import SLOTS, System, python

BATCH = 1000


class PgQueuer(System):
    name = "pgqueuer"
    schema = "pgqueuer"
    client = "benchmarks.systems.pgqueuer.client"
    needs = ("pgqueuer", "asyncpg", "uvloop")
    settings = f"{SLOTS} worker processes, --batch-size {BATCH}, durable tables; ended jobs leave the queue"
    left_sql = "SELECT count(*) FROM pgqueuer"

    def workers(self) -> list[list[str]]:
        command = python(
            "pgqueuer",
            *("run", "benchmarks.systems.pgqueuer.app:main"),
            *("--batch-size", str(BATCH), "--log-level", "WARNING"),
        )
        return [command] * SLOTS
