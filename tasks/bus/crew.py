"""The few threads that work on calls of the bus; each keeps its database connection from call to call."""

from __future__ import annotations

import asyncio
import os
import threading
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import TypeVar

from django.db import connections
from django.db.backends.base.base import BaseDatabaseWrapper

from jobsplatform.kernel import config, context

T = TypeVar("T")


class Crew:
    """As many threads as ``BUS__THREADS`` says."""

    def __init__(self) -> None:
        self.owner = os.getpid()
        self._opened: list[BaseDatabaseWrapper] = []
        self._pool = ThreadPoolExecutor(
            config.get().bus.threads, thread_name_prefix="bus", initializer=self._enter
        )

    def _enter(self) -> None:
        for alias in connections:
            connection = connections[alias]
            connection.inc_thread_sharing()  # whoever ends the crew closes it
            self._opened.append(connection)

    async def do(self, fn: Callable[..., T], *args: object) -> T:
        """``fn(*args)`` in one of the threads, under the context of the caller."""
        here = context.current()

        def within() -> T:
            with context.use(here):
                return fn(*args)

        return await asyncio.get_running_loop().run_in_executor(self._pool, within)

    def end(self) -> None:
        """Wait for what is under way, and close the connections."""
        self._pool.shutdown(wait=True)
        for connection in self._opened:
            connection.close()
        self._opened.clear()


_crew: Crew | None = None
_making = threading.Lock()


def crew() -> Crew:
    """That of this process; made when first asked for."""
    global _crew
    with _making:
        if _crew is None or _crew.owner != os.getpid():
            _crew = Crew()
        return _crew


def end() -> None:
    """End this process's crew, if it has one; the next call makes another."""
    global _crew
    with _making:
        ended, _crew = _crew, None
    if ended is not None and ended.owner == os.getpid():
        ended.end()
