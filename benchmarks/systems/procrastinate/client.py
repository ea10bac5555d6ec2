"""Defers jobs from synchronous code, over a pool of connections."""

from __future__ import annotations

from benchmarks.client import Client
from benchmarks.systems.procrastinate import app as tasks


class ProcrastinateClient(Client):
    def __init__(self) -> None:
        self._app = tasks.app
        self._app.open()

    def prepare(self) -> None:
        self._app.schema_manager.apply_schema()

    def enqueue_one(self, kind: str, number: int) -> None:
        self._app.configure_task(f"bench.{kind}").defer(number=number)

    def enqueue_many(self, kind: str, count: int) -> None:
        self._app.configure_task(f"bench.{kind}").batch_defer(*({"number": n} for n in range(count)))


def make() -> ProcrastinateClient:
    return ProcrastinateClient()
