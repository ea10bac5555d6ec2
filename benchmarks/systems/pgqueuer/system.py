"""PgQueuer, two worker processes."""

from __future__ import annotations

from benchmarks.systems.base import SLOTS, System, python
from benchmarks.systems.pgqueuer import BATCH


class PgQueuer(System):
    name = "pgqueuer"
    schema = "pgqueuer"
    client = "benchmarks.systems.pgqueuer.client"
    needs = ("pgqueuer", "asyncpg", "uvloop")
    settings = (
        f"{SLOTS} worker processes, batch_size {BATCH}, asyncpg, uvloop, LISTEN/NOTIFY, durable tables; "
        "ended jobs leave the queue"
    )
    left_sql = "SELECT count(*) FROM pgqueuer"

    def workers(self) -> list[list[str]]:
        command = python("benchmarks.systems.pgqueuer.app")
        return [command] * SLOTS
