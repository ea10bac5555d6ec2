"""Run an async handler from a worker's thread, and end it with its run."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from concurrent.futures import CancelledError, Future
from typing import Any

from asgiref.sync import async_to_sync

END_SECONDS = 5.0
"""How long a cancelled coroutine may take to leave before its run ends without it."""


def run_async(function: Callable[..., Awaitable[Any]], *args: Any, **params: Any) -> Any:
    """The answer of ``function``, whose loop lives in a thread of its own.

    ``sync_to_async`` inside (and so the async ORM) comes back to the calling thread, with its connection and
    its transaction. When the calling thread is interrupted (a time limit is a signal to it), the coroutine is
    cancelled, so that it does not go on behind the ended run.
    """
    running: dict[str, Any] = {}
    ended: Future[None] = Future()

    async def main() -> Any:
        running["loop"] = asyncio.get_running_loop()
        running["task"] = asyncio.current_task()
        try:
            return await function(*args, **params)
        finally:
            ended.set_result(None)

    try:
        return async_to_sync(main)()
    except BaseException:
        if running and not ended.done():
            _cancel(running["loop"], running["task"], ended)
        raise


def _cancel(loop: asyncio.AbstractEventLoop, task: asyncio.Task[Any], ended: Future[None]) -> None:
    try:
        loop.call_soon_threadsafe(task.cancel)
    except RuntimeError:
        return  # the loop has closed meanwhile
    try:
        ended.result(timeout=END_SECONDS)
    except (TimeoutError, CancelledError):
        return  # it is deaf; its late writes carry a lease that no longer holds
