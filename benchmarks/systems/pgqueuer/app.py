"""A worker: a connection, the entrypoints, and PgQueuer's own loop until SIGTERM.

Not by its command line, which fails with some versions of the library that reads its options.
"""

from __future__ import annotations

import asyncio
import logging
import os
import signal
from collections.abc import Callable

import asyncpg
import uvloop
from pgqueuer import PgQueuer
from pgqueuer.db import AsyncpgDriver
from pgqueuer.models import Job

from benchmarks import handlers
from benchmarks.systems.pgqueuer import BATCH


async def main() -> None:
    """Work until SIGTERM."""
    logging.getLogger("pgqueuer").setLevel(logging.WARNING)
    queuer = PgQueuer(AsyncpgDriver(await asyncpg.connect(os.environ["DATABASE_URL"])))
    for kind in ("noop", "short", "stamp"):
        queuer.entrypoint(f"bench.{kind}")(_entrypoint(getattr(handlers, kind)))
    asyncio.get_running_loop().add_signal_handler(signal.SIGTERM, queuer.shutdown.set)
    await queuer.run(batch_size=BATCH)


def _entrypoint(work: Callable[[int], None]) -> Callable[[Job], object]:
    async def run(job: Job) -> None:
        work(int(job.payload or b"0"))

    return run


if __name__ == "__main__":
    uvloop.run(main())
