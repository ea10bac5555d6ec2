"""Pages that look on, callers of the bus, and changes to tell of: the clients of one web process."""

from __future__ import annotations

import asyncio
import os
import threading
import time
from collections.abc import Callable, Coroutine
from pathlib import Path
from typing import Any, TypeVar

import httpx

from benchmarks.handlers import FOLDER
from benchmarks.live.ours.callers import Callers
from benchmarks.live.ours.system import PORT
from benchmarks.systems.ours.client import OurClient
from chaos.live.page import Page

# That one has set Django up.
from django.contrib.auth.models import User  # isort: skip
from django.test import Client as Browser  # isort: skip

from benchmarks.live.reporters import jobs  # isort: skip
from jobsplatform.kernel import app_rows, clock, events, tokens  # isort: skip
from jobsplatform.kernel.audit import Actor  # isort: skip
from jobsplatform.testing.factory import make_job  # isort: skip
from tasks import transitions  # isort: skip
from tasks.events import ProgressMade  # isort: skip
from tasks.models import Job  # isort: skip
from tasks.states import State  # isort: skip

T = TypeVar("T")
PATIENCE = 180.0
BENCH = Actor.system("bench")
TOPIC = "type::bench.watched"
ENOUGH = 0.99
"""Of the events must come one by one; what a page had in a snapshot, after a reconnect, has no time of its own."""


class LiveClient(OurClient):
    """Pages live in a loop of their own thread; changes are made in this one."""

    def __init__(self) -> None:
        super().__init__()
        self._port = os.environ.get(PORT, "")
        self._pages: list[Page] = []
        self._arrived: dict[float, list[float]] = {}
        self._loop = asyncio.new_event_loop()
        threading.Thread(target=self._loop.run_forever, daemon=True).start()

    def _in_loop(self, story: Coroutine[Any, Any, T]) -> T:
        return asyncio.run_coroutine_threadsafe(story, self._loop).result(PATIENCE * 3)

    def ready(self) -> None:
        """Until the web process answers."""

        def up() -> bool:
            try:
                return httpx.get(f"http://127.0.0.1:{self._port}/health/live", timeout=5).status_code == 200
            except httpx.HTTPError:
                return False

        _wait(up)

    # -- pages ---------------------------------------------------------------------------------------

    def look(self, pages: int, topic: str = TOPIC) -> float:
        """Open so many pages on one topic; seconds until all have their snapshot."""
        user = User.objects.create_superuser("bench")
        browser = Browser()
        browser.force_login(user)
        self._headers = {"Cookie": f"sessionid={browser.session.session_key}"}
        return self.look_more(pages, topic)

    def look_more(self, pages: int, topic: str = TOPIC) -> float:
        """The same, by the same person."""
        began = time.monotonic()
        self._in_loop(self._open(pages, topic))
        return time.monotonic() - began

    async def _open(self, pages: int, topic: str) -> None:
        host = f"127.0.0.1:{self._port}"
        for n in range(pages):
            page = Page(
                f"ws://{host}/live/ws", self._headers, {"a": topic}, origin=f"http://{host}", limit=5, seed=n,
                patience=PATIENCE,
                on_event=self._heard if topic == TOPIC else None,
            )  # fmt: skip
            self._pages.append(page)
            page.start()
            if n % 25 == 24:
                await asyncio.sleep(0.02)  # as people come: not all in one moment
        deadline = time.monotonic() + PATIENCE
        while not all(page.synced for page in self._pages):
            if time.monotonic() > deadline:
                raise TimeoutError(f"{sum(page.synced for page in self._pages)} of {pages} pages came in")
            await asyncio.sleep(0.01)

    def _heard(self, event: dict[str, Any], at: float) -> None:
        done = event.get("job", {}).get("progress", {}).get("done")
        if done is not None:
            self._arrived.setdefault(done, []).append(at)

    def tell(self, count: int, per_second: float, listeners: int) -> list[float]:
        """Change jobs at a steady pace; milliseconds from each commit to each page."""
        watched = [make_job(State.RUNNING, job_type="bench.watched") for _ in range(max(1, int(per_second)))]
        time.sleep(1.5)  # they were news themselves
        committed, began = {}, time.monotonic()
        for n in range(1, count + 1):
            time.sleep(max(0.0, began + n / per_second - time.monotonic()))
            job = watched[n % len(watched)]
            if not transitions.progress(job.id, job.lease, n, count, "", clock.now()):
                raise RuntimeError("the job is no longer running")
            committed[n] = time.monotonic()
            # As the reporter of a run does after it has written.
            events.emit(ProgressMade(job.id, job.handler_key))
        last = str(watched[count % len(watched)].id)
        looking = [page for page in self._pages if TOPIC in (sub.topic for sub in page.subs.values())]
        _wait(lambda: all(_done(page, last) == count for page in looking))
        came = [(at - committed[n]) * 1000 for n in committed for at in self._arrived.get(n, ())]
        if len(came) < ENOUGH * count * listeners:
            raise RuntimeError(f"only {len(came):,} of {count * listeners:,} events came one by one")
        return came

    # -- the bus -------------------------------------------------------------------------------------

    def call(self, count: int, callers: int, batch: int) -> float:
        """Create jobs by so many callers side by side; jobs a second. ``batch``: in one call; 1: one each."""
        app, _ = app_rows.ensure("bench", actor=BENCH)
        scopes = ("jobs:create", "jobs:run")
        _, token = tokens.mint(app, name="b", scopes=scopes, expires_at=None, actor=BENCH, now=clock.now())
        crowd = Callers("127.0.0.1", int(self._port), token)
        self._in_loop(crowd.declare("bench.made"))
        self._in_loop(crowd.call(callers * 2, callers, batch))
        began = time.monotonic()
        self._in_loop(crowd.call(count, callers, batch))
        return count * batch / (time.monotonic() - began)

    # -- the storm -----------------------------------------------------------------------------------

    def storm(self, count: int, silent: bool) -> None:
        """So many jobs that report, or only wait as often."""
        jobs.report.enqueue_many([{"number": n, "silent": silent} for n in range(count)])

    def storming(self, count: int) -> None:
        """Until all of them run."""
        _wait(lambda: Job.objects.filter(job_type="bench.report", state="running").count() == count)

    def calm(self) -> None:
        """Let them end."""
        (Path(os.environ[FOLDER]) / "calm").touch()


def _done(page: Page, job_id: str) -> float | None:
    """How far the page shows this job to be."""
    known = page.picture.get(job_id)
    return known[1]["progress"]["done"] if known else None


def _wait(condition: Callable[[], bool]) -> None:
    deadline = time.monotonic() + PATIENCE
    while not condition():
        if time.monotonic() > deadline:
            raise TimeoutError(f"not within {PATIENCE:g} s")
        time.sleep(0.02)


def make() -> LiveClient:
    return LiveClient()
