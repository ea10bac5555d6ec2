"""Many who ask the same at once share one reading, which begins after the last of them has asked."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable

Snapshot = tuple[int, str, bool]
"""The stream's number before the reading, the inside of the frame, and whether it shows any job."""


class Flight:
    """One reading at a time; whoever comes while one is on its way waits for the next."""

    def __init__(self, read: Callable[[], Awaitable[Snapshot]]) -> None:
        self._read = read
        self._waiting: asyncio.Future[Snapshot] | None = None
        self._task: asyncio.Task[None] | None = None

    async def next(self) -> Snapshot:
        """The next reading. Raises what it raises."""
        if self._waiting is None:
            self._waiting = asyncio.get_running_loop().create_future()
        if self._task is None or self._task.done():
            self._task = asyncio.get_running_loop().create_task(self._work())
        return await asyncio.shield(self._waiting)

    async def _work(self) -> None:
        while self._waiting is not None:
            future, self._waiting = self._waiting, None
            try:
                future.set_result(await self._read())
            except Exception as error:
                future.set_exception(error)
                future.exception()  # whoever waited may be gone, and then nobody looks at it
            except BaseException:
                future.cancel()
                raise
