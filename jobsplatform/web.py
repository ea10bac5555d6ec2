"""The web server inside our own process: a port that is free, a start that tells, signals that are ours."""

from __future__ import annotations

import contextlib
import errno
import socket
from collections.abc import Callable, Iterator
from typing import Any

import uvicorn

from jobsplatform.kernel.errors import InvalidInput

APPLICATION = "jobsplatform.asgi:application"
PORTS_TRIED = 50
GRACE_SECONDS = 1

WS_MAX_BYTES = 65_536
"""Largest WebSocket frame from a client. Frames to clients are not compressed: that would cost more than it saves."""


def listen(host: str, port: int) -> tuple[socket.socket, int]:
    """A listening socket on ``port``, or on the next one that is free.

    Raises InvalidInput when the host is none of this machine, or no port is free.
    """
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    for candidate in range(port, min(port + PORTS_TRIED, 65536)):
        candidate_socket = socket.socket(family, socket.SOCK_STREAM)
        candidate_socket.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            candidate_socket.bind((host, candidate))
            candidate_socket.listen(512)
        except OSError as error:
            candidate_socket.close()
            if error.errno in (errno.EADDRINUSE, errno.EACCES):
                continue
            raise InvalidInput(f"Cannot listen on {host!r}: {error.strerror or error}.", host=host) from None
        candidate_socket.set_inheritable(True)
        return candidate_socket, candidate_socket.getsockname()[1]
    raise InvalidInput(f"No free port from {port} on. Name another with --port.", port=port)


def address(host: str, port: int) -> str:
    """The URL to open in a browser on this machine."""
    shown = {"0.0.0.0": "127.0.0.1", "::": "[::1]"}.get(host, f"[{host}]" if ":" in host else host)
    return f"http://{shown}:{port}/"


class WebServer(uvicorn.Server):
    """uvicorn, which leaves the signals to us and says when it is up."""

    def __init__(self, on_ready: Callable[[], None]) -> None:
        super().__init__(
            uvicorn.Config(
                APPLICATION,
                log_config=None,
                access_log=False,
                lifespan="on",
                timeout_graceful_shutdown=GRACE_SECONDS,
                ws_max_size=WS_MAX_BYTES,
                ws_per_message_deflate=False,
            )
        )
        self._on_ready = on_ready

    @contextlib.contextmanager
    def capture_signals(self) -> Iterator[None]:
        yield

    async def startup(self, sockets: list[socket.socket] | None = None) -> None:
        await super().startup(sockets)
        if self.started:
            self._on_ready()

    def end(self) -> None:
        """Stop serving; open requests get a moment. Any thread may call it."""
        self.should_exit = True

    def serve_here(self, listening: socket.socket | None) -> Any:
        """Serve in this thread until ``end``."""
        return self.run(sockets=[listening] if listening is not None else None)
