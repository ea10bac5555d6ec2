"""Enqueues over one asyncpg connection; its loop runs only while it is asked something."""

from __future__ import annotations

import os
import time

import asyncpg
import uvloop
from pgqueuer.db import AsyncpgDriver
from pgqueuer.queries import Queries

from benchmarks.client import Client


class PgQueuerClient(Client):
    def __init__(self) -> None:
        self._loop = uvloop.new_event_loop()
        connection = self._loop.run_until_complete(asyncpg.connect(os.environ["DATABASE_URL"]))
        self._queries = Queries(AsyncpgDriver(connection))

    def prepare(self) -> None:
        self._loop.run_until_complete(self._queries.install())

    def enqueue_one(self, kind: str, number: int) -> None:
        self._loop.run_until_complete(self._queries.enqueue(f"bench.{kind}", str(number).encode()))

    def enqueue_many(self, kind: str, count: int) -> None:
        payloads: list[bytes | None] = [str(number).encode() for number in range(count)]
        self._loop.run_until_complete(self._queries.enqueue([f"bench.{kind}"] * count, payloads, [0] * count))

    def one_by_one(self, kind: str, count: int, first: int = 0) -> list[float]:
        """Within one run of the loop, as an async application has it."""

        async def each() -> list[float]:
            taken = []
            for number in range(first, first + count):
                began = time.perf_counter()
                await self._queries.enqueue(f"bench.{kind}", str(number).encode())
                taken.append(time.perf_counter() - began)
            return taken

        return list(self._loop.run_until_complete(each()))


def make() -> PgQueuerClient:
    return PgQueuerClient()
