"""One HTTP exchange with an address that was checked: resolve, judge, and connect to exactly that address.

A name may mean one address when it is checked and another when it is called; so it is resolved once, every
answer is judged, and the socket goes to a judged one, while Host and TLS name stay the host's. No
proxy settings of the environment are used: a proxy would resolve the name again.
"""

from __future__ import annotations

import http.client
import io
import socket
import ssl
from collections.abc import Callable
from typing import Any

from jobsplatform.kernel import clock
from tasks.builtin.http.addresses import check_address
from tasks.builtin.http.request import Target

SLICE_SECONDS = 0.5
"""How long a read waits before it looks whether the job was cancelled."""


class Deadline:
    """The end of the whole call, on the monotonic clock. ``check`` is called while it waits; it may raise."""

    def __init__(self, seconds: float, check: Callable[[], None]) -> None:
        self.seconds = seconds
        self._end = clock.monotonic() + seconds
        self.check = check

    def left(self) -> float:
        """Seconds left. Raises TimeoutError when none are."""
        left = self._end - clock.monotonic()
        if left <= 0:
            raise TimeoutError(f"no complete answer within {self.seconds:g} seconds")
        return left


class _Reader(io.RawIOBase):
    """Reads a socket under a deadline that covers the whole answer: a byte a second is no way around it."""

    def __init__(self, sock: socket.socket, deadline: Deadline, closed: Callable[[], None]) -> None:
        self._socket = sock
        self._deadline = deadline
        self._closed = closed

    def close(self) -> None:
        if not self.closed:
            super().close()
            self._closed()

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: Any, /) -> int:
        while True:
            self._deadline.check()
            self._socket.settimeout(min(SLICE_SECONDS, self._deadline.left()))
            try:
                return self._socket.recv_into(buffer)
            except TimeoutError:
                continue


class _Wire:
    """The part of a socket that ``http.client`` uses. It closes this one before the answer is read when the server
    says that it will close too: the socket stays open for the reader."""

    def __init__(self, sock: socket.socket, deadline: Deadline) -> None:
        self._socket = sock
        self._deadline = deadline
        self._users = 1

    def makefile(self, *_: Any, **__: Any) -> io.BufferedReader:
        self._users += 1
        return io.BufferedReader(_Reader(self._socket, self._deadline, self.close))

    def sendall(self, data: Any) -> None:
        self._socket.settimeout(self._deadline.left())
        self._socket.sendall(data)

    def close(self) -> None:
        self._users -= 1
        if self._users <= 0:
            self._socket.close()


def resolve(host: str, port: int) -> list[str]:
    """All addresses of a host, as the system's resolver orders them. Raises OSError."""
    found = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM)
    return list(dict.fromkeys(str(entry[4][0]) for entry in found))


class Connection(http.client.HTTPConnection):
    """A connection to one target; ``close`` it. ``resolver`` is ``resolve``, or a test's."""

    def __init__(
        self,
        target: Target,
        deadline: Deadline,
        *,
        allow_private: bool,
        resolver: Callable[[str, int], list[str]] = resolve,
        tls: ssl.SSLContext | None = None,
    ) -> None:
        super().__init__(target.host, target.port)
        # http.client leaves the port out of Host only when it is the class's default.
        self.default_port = {"http": 80, "https": 443}[target.scheme]
        self._target = target
        self._deadline = deadline
        self._allow_private = allow_private
        self._resolver = resolver
        self._tls = tls

    def connect(self) -> None:
        """Resolve, judge all addresses, connect to the first that answers. Raises ``Blocked`` or OSError."""
        addresses = self._resolver(self._target.host, self._target.port)
        # One forbidden answer among good ones is an attempt to get past this check: none is called.
        for address in addresses:
            check_address(address, allow_private=self._allow_private)
        self.sock = _Wire(self._secured(self._connected(addresses)), self._deadline)

    def _connected(self, addresses: list[str]) -> socket.socket:
        failed: OSError = OSError(f"{self._target.host} has no address")
        for address in addresses:
            self._deadline.check()
            family = socket.AF_INET6 if ":" in address else socket.AF_INET
            sock = socket.socket(family, socket.SOCK_STREAM)
            try:
                sock.settimeout(self._deadline.left())
                sock.connect((address, self._target.port))
                return sock
            except OSError as error:
                sock.close()
                failed = error
        raise failed

    def _secured(self, sock: socket.socket) -> socket.socket:
        if self._target.scheme == "http":
            return sock
        try:
            sock.settimeout(self._deadline.left())
            context = self._tls or ssl.create_default_context()
            return context.wrap_socket(sock, server_hostname=self._target.host)
        except BaseException:
            sock.close()
            raise
