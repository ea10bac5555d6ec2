"""The app of the workers and its tasks. Async, because that is what its worker's concurrency is for."""

from __future__ import annotations

import os

import procrastinate

from benchmarks import handlers

app = procrastinate.App(connector=procrastinate.PsycopgConnector(conninfo=os.environ["DATABASE_URL"]))


@app.task(name="bench.noop")
async def noop(number: int) -> None:
    handlers.noop(number)


@app.task(name="bench.short")
async def short(number: int) -> None:
    handlers.short(number)


@app.task(name="bench.stamp")
async def stamp(number: int) -> None:
    handlers.stamp(number)
