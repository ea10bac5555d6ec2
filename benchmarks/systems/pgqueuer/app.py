"""What ``pgq run`` starts: a connection and the entrypoints."""

from __future__ import annotations

import os
from collections.abc import Callable

import asyncpg
from pgqueuer import PgQueuer
from pgqueuer.db import AsyncpgDriver
from pgqueuer.models import Job

from benchmarks import handlers


async def main() -> PgQueuer:
    queuer = PgQueuer(AsyncpgDriver(await asyncpg.connect(os.environ["DATABASE_URL"])))
    for kind in ("noop", "short", "stamp"):
        queuer.entrypoint(f"bench.{kind}")(_entrypoint(getattr(handlers, kind)))
    return queuer


def _entrypoint(work: Callable[[int], None]) -> Callable[[Job], object]:
    async def run(job: Job) -> None:
        work(int(job.payload or b"0"))

    return run
