"""A thread that reads the database for the event loop, on a connection of its own."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import ParamSpec, TypeVar

from django.db import connections

from jobsplatform.kernel import db
from jobsplatform.kernel.forks import GUARD

P = ParamSpec("P")
R = TypeVar("R")


class Desk:
    """Answers questions one after the other. Whoever asks waits without holding up the loop."""

    def __init__(self, name: str) -> None:
        self._pool = ThreadPoolExecutor(1, thread_name_prefix=name)

    async def ask(self, question: Callable[P, R], *args: P.args, **kwargs: P.kwargs) -> R:
        """The answer of ``question``, which may use the database. Raises what it raises."""
        return await asyncio.get_running_loop().run_in_executor(
            self._pool, lambda: _answer(lambda: question(*args, **kwargs))
        )

    def close(self) -> None:
        """Let the thread end, and its connection with it."""
        self._pool.submit(connections.close_all)
        self._pool.shutdown(wait=False)


def _answer(question: Callable[[], R]) -> R:
    with GUARD.round(), db.closing_broken_connection():
        db.close_stale()
        return question()
