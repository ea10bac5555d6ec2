"""Procrastinate, two worker processes."""

from __future__ import annotations

from benchmarks.systems.base import SLOTS, System, python

CONCURRENCY = 30
"""Jobs at once in a process, for async tasks; one at a time was slower."""


class Procrastinate(System):
    name = "procrastinate"
    schema = "procrastinate"
    client = "benchmarks.systems.procrastinate.client"
    needs = ("procrastinate", "psycopg_pool")
    settings = f"{SLOTS} worker processes, concurrency {CONCURRENCY}, LISTEN/NOTIFY, async tasks, jobs kept"
    done_sql = "SELECT count(*) FROM procrastinate_jobs WHERE status = 'succeeded'"

    def workers(self) -> list[list[str]]:
        command = python(
            "procrastinate",
            "--app=benchmarks.systems.procrastinate.app.app",
            "worker",
            f"--concurrency={CONCURRENCY}",
        )
        return [command] * SLOTS
