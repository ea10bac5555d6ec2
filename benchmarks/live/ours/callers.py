"""Callers of the bus over plain connections that stay open: a client that costs little beside the server."""

from __future__ import annotations

import asyncio
import json
from typing import Any


class Callers:
    """``token`` of an app with jobs:create and jobs:run."""

    def __init__(self, host: str, port: int, token: str) -> None:
        self._host, self._port, self._token = host, port, token

    async def declare(self, job_type: str) -> None:
        """Bind the job type that is created."""
        self._job_type = job_type
        async with _Connection(self) as connection:
            await connection.post("jobs.register_handler", {"job_type": job_type, "service": "bench"})

    async def call(self, count: int, callers: int, batch: int) -> None:
        """``count`` calls by ``callers`` side by side, ``batch`` jobs in each."""
        each = [count // callers + (n < count % callers) for n in range(callers)]
        await asyncio.gather(*(self._one(calls, batch) for calls in each))

    async def _one(self, calls: int, batch: int) -> None:
        job = {"job_type": self._job_type, "params": {"number": 1}}
        async with _Connection(self) as connection:
            for _ in range(calls):
                if batch == 1:
                    await connection.post("jobs.create", job)
                else:
                    await connection.post("jobs.create_many", {"jobs": [job] * batch})

    def request(self, method: str, body: Any) -> bytes:
        text = json.dumps(body).encode()
        head = (
            f"POST /bus/v1/{method} HTTP/1.1\r\nHost: {self._host}:{self._port}\r\n"
            f"Authorization: Bearer {self._token}\r\nContent-Type: application/json\r\n"
            f"Content-Length: {len(text)}\r\n\r\n"
        )
        return head.encode() + text

    async def open(self) -> tuple[asyncio.StreamReader, asyncio.StreamWriter]:
        return await asyncio.open_connection(self._host, self._port, limit=2**22)


class _Connection:
    def __init__(self, callers: Callers) -> None:
        self._callers = callers

    async def __aenter__(self) -> _Connection:
        self._reader, self._writer = await self._callers.open()
        return self

    async def __aexit__(self, *_: object) -> None:
        self._writer.close()

    async def post(self, method: str, body: Any) -> None:
        """Raises RuntimeError for any answer but 200."""
        self._writer.write(self._callers.request(method, body))
        head = (await self._reader.readuntil(b"\r\n\r\n")).decode("latin-1").lower()
        length = next(int(line[15:]) for line in head.splitlines() if line.startswith("content-length:"))
        answer = await self._reader.readexactly(length)
        if not head.startswith("http/1.1 200"):
            raise RuntimeError(f"{method}: {head.splitlines()[0]} {answer[:200]!r}")
