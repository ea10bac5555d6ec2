"""A small proxy before one server, for cutting off one process: its connections are broken, or freeze."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Awaitable, Callable
from pathlib import Path

Address = Path | tuple[str, int]
"""A Unix socket, or host and port."""

_CHUNK = 65_536


class _Link:
    """One connection through the proxy."""

    def __init__(self, writers: list[asyncio.StreamWriter]) -> None:
        self.writers = writers
        self.flows = asyncio.Event()
        self.flows.set()

    def break_off(self) -> None:
        for writer in self.writers:
            writer.transport.abort()
        self.flows.set()


class Proxy:
    """Passes bytes until told otherwise. It runs in a thread of its own; use it as a context manager."""

    def __init__(self, listen: Path | None, server: Address) -> None:
        """``listen``: a Unix socket to be made; None: some free port of this machine."""
        self._listen, self._server = listen, server
        self._loop = asyncio.new_event_loop()
        self._thread = threading.Thread(target=self._loop.run_forever, name="proxy", daemon=True)
        self._links: set[_Link] = set()
        self._refusing = self._freezing = False
        self.port = 0

    def __enter__(self) -> Proxy:
        self._thread.start()
        self._do(self._begin)
        return self

    def __exit__(self, *_: object) -> None:
        self._do(self._end)
        self._loop.call_soon_threadsafe(self._loop.stop)
        self._thread.join(5)

    def cut(self) -> None:
        """Break every connection and refuse new ones."""
        self._do(self._cut)

    def freeze(self, *, new_too: bool = True) -> None:
        """No byte passes, and nobody is told; connections made from now on freeze too, or not."""
        self._do(lambda: self._freeze(new_too))

    def pass_again(self) -> None:
        """What was frozen flows on; new connections pass."""
        self._do(self._pass)

    def _do(self, act: Callable[[], Awaitable[None]]) -> None:
        async def call() -> None:
            await act()

        asyncio.run_coroutine_threadsafe(call(), self._loop).result(10)

    async def _begin(self) -> None:
        if self._listen is not None:
            self._accepting = await asyncio.start_unix_server(self._serve, str(self._listen))
        else:
            self._accepting = await asyncio.start_server(self._serve, "127.0.0.1", 0)
            self.port = int(self._accepting.sockets[0].getsockname()[1])

    async def _end(self) -> None:
        self._accepting.close()
        await self._cut()

    async def _cut(self) -> None:
        self._refusing = True
        for link in list(self._links):
            link.break_off()

    async def _freeze(self, new_too: bool) -> None:
        self._freezing = new_too
        for link in self._links:
            link.flows.clear()

    async def _pass(self) -> None:
        self._refusing = self._freezing = False
        for link in self._links:
            link.flows.set()

    async def _serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        if self._refusing:
            writer.transport.abort()
            return
        try:
            far_reader, far_writer = await self._connect()
        except OSError:
            writer.transport.abort()
            return
        link = _Link([writer, far_writer])
        if self._freezing:
            link.flows.clear()
        self._links.add(link)
        try:
            await asyncio.gather(self._pump(link, reader, far_writer), self._pump(link, far_reader, writer))
        finally:
            self._links.discard(link)

    async def _connect(self) -> tuple[asyncio.StreamReader, asyncio.StreamWriter]:
        if isinstance(self._server, Path):
            return await asyncio.open_unix_connection(str(self._server))
        return await asyncio.open_connection(*self._server)

    async def _pump(self, link: _Link, source: asyncio.StreamReader, sink: asyncio.StreamWriter) -> None:
        try:
            while data := await source.read(_CHUNK):
                await link.flows.wait()
                sink.write(data)
                await sink.drain()
            await link.flows.wait()
        except OSError:
            pass  # broken by either side, or by us: both ends shall see it
        link.break_off()
