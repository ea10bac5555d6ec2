"""Web processes under test, and the story of a storm: pages that look on while jobs report and things break."""

from __future__ import annotations

import asyncio
import socket
import sys
import time
from collections.abc import Awaitable, Callable
from contextlib import suppress
from pathlib import Path
from typing import Any, TypeVar
from uuid import UUID

import httpx
import psutil
from django.contrib.auth.models import User
from django.test import Client
from websockets.asyncio.client import connect

from chaos.live.page import Page
from tasks.live.desk import Desk
from tasks.live.facts import revision_of
from tasks.models import Job
from tests.flows.processes import PATIENCE, Command, until

T = TypeVar("T")


def free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])


class Web(Command):
    """A web process on a port of its own."""

    def __init__(self, log: Path, environment: dict[str, str], port: int) -> None:
        self.port = port
        options = ["--ws-max-size", "65536", "--ws-per-message-deflate", "false", "--log-level", "warning"]
        command = [sys.executable, "-m", "uvicorn", "jobsplatform.asgi:application", "--port", str(port)]
        super().__init__(log, environment, [*command, *options, "--no-access-log"])

    @property
    def origin(self) -> str:
        return f"http://127.0.0.1:{self.port}"

    @property
    def socket_url(self) -> str:
        return f"ws://127.0.0.1:{self.port}/live/ws"

    def wait_ready(self) -> None:
        def up() -> bool:
            assert self.process.poll() is None, self.output[-3000:]
            with suppress(httpx.HTTPError):
                return httpx.get(f"{self.origin}/health/live", timeout=5).status_code == 200
            return False

        until(up)

    @property
    def memory(self) -> float:
        """MiB that are resident."""
        return float(psutil.Process(self.pid).memory_info().rss) / 2**20


def session_cookie() -> str:
    """The cookie of somebody who sees everything."""
    user, _ = User.objects.get_or_create(username="onlooker", is_staff=True, is_superuser=True)
    client = Client()
    client.force_login(user)
    return f"sessionid={client.session.session_key}"


class Onlookers:
    """Pages on one or several web processes; to be used within a loop."""

    def __init__(self, cookie: str, jobs: list[UUID]) -> None:
        self.cookie = cookie
        self.jobs = jobs
        self.pages: list[Page] = []
        self.desk = Desk("test")

    def open(self, web: Web, topics: dict[str, str], **how: Any) -> Page:
        page = Page(
            web.socket_url,
            {"Cookie": self.cookie},
            topics,
            origin=web.origin,
            seed=len(self.pages),
            **how,
        )
        self.pages.append(page)
        page.start()
        return page

    async def all_synced(self) -> None:
        await soon(lambda: _now(all(page.synced for page in self.pages)))

    def truth(self) -> dict[str, tuple[int, str]]:
        """What the database says of the jobs."""
        rows = Job.objects.filter(id__in=self.jobs)
        return {str(job.id): (revision_of(job), str(job.state)) for job in rows}

    async def agree(self) -> float:
        """Until every page shows of its jobs what the rows say; the seconds since these last changed.
        Raises AssertionError."""
        began, known = time.monotonic(), await self.desk.ask(self.truth)
        while True:
            truth = await self.desk.ask(self.truth)
            if truth != known:
                began, known = time.monotonic(), truth
            wrong = {n: found for n, page in enumerate(self.pages) if (found := errors(page, truth))}
            took = time.monotonic() - began
            if not wrong:
                return took
            first = next(iter(wrong))
            page = self.pages[first]
            assert took < PATIENCE, f"{len(wrong)} pages; {page.subs} {page.seen} shows {wrong[first]}"
            await asyncio.sleep(0.02)

    async def still(self) -> None:
        """Until the rows stand still."""
        before = await self.desk.ask(self.truth)
        while True:
            await asyncio.sleep(0.4)
            now = await self.desk.ask(self.truth)
            if now == before:
                return
            before = now

    async def close(self) -> None:
        for page in self.pages:
            await page.stop()
        self.desk.close()


def errors(page: Page, truth: dict[str, tuple[int, str]]) -> dict[str, object]:
    """What the page shows wrongly of the jobs that it follows, and what is true of them."""
    single = {sub.topic[4:] for sub in page.subs.values() if sub.topic.startswith("job:")}
    wide = any(not sub.topic.startswith("job:") for sub in page.subs.values())
    wrong: dict[str, object] = {} if page.synced else {"synced": False}
    for job_id in truth if wide else single:
        known = page.picture.get(job_id)
        found = (known[0], known[1]["status"]) if known else None
        if found != truth[job_id]:
            wrong[job_id] = (found, truth[job_id])
    return wrong


async def _now(value: bool) -> bool:
    return value


async def soon(condition: Callable[[], Awaitable[bool]], seconds: float = 30.0) -> None:
    """Wait for a condition. Raises TimeoutError."""
    async with asyncio.timeout(seconds):
        while not await condition():
            await asyncio.sleep(0.02)


class Deaf:
    """A client that subscribes to everything and never reads."""

    def __init__(self, web: Web, cookie: str) -> None:
        self._task = asyncio.create_task(self._stay(web, cookie))

    async def _stay(self, web: Web, cookie: str) -> None:
        async with connect(
            web.socket_url,
            additional_headers={"Cookie": cookie},
            origin=web.origin,  # type: ignore[arg-type]
            proxy=None,
            compression=None,
            max_queue=1,
        ) as wire:
            wire.transport.set_write_buffer_limits()
            await wire.send('{"type":"subscribe","sub":"a","topic":"jobs"}')
            wire.transport.pause_reading()
            await asyncio.Event().wait()

    async def close(self) -> None:
        self._task.cancel()
        await asyncio.gather(self._task, return_exceptions=True)
