"""Live pages on real processes, while jobs report all the time and things break: the picture comes right again."""

from __future__ import annotations

import asyncio
import os
import signal
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from uuid import UUID

import httpx
import pytest

from chaos.live import JOBS, ROUNDS, WITHIN
from jobsplatform.kernel.loop import wait_until
from tasks.models import Job
from tasks.states import State
from tasks.submit import enqueue
from tests.flows.live_site import Deaf, Onlookers, Web, free_port, session_cookie, soon
from tests.flows.processes import Worker
from tests.services import RedisServer, start_redis

pytestmark = pytest.mark.flow

COUNT = int(os.environ.get(JOBS, "50"))
TIMES = int(os.environ.get(ROUNDS, "1"))
LIMIT = float(os.environ.get(WITHIN, "10"))
"""Seconds; two are promised, on a machine that has nothing else to do."""

NARROW = 96
STORM_SECONDS = 2.5
MEMORY_GROWTH = 24.0
"""MiB that a web process may grow while a hundred clients come and one never reads."""


@pytest.fixture(scope="module")
def own_redis() -> Iterator[RedisServer]:
    with start_redis() as server:
        yield server


@pytest.fixture(scope="module")
def environment(environment: dict[str, str], own_redis: RedisServer) -> dict[str, str]:
    settings = {
        "ALLOWED_HOSTS": "127.0.0.1,localhost",
        "TASKS__LEASE_SECONDS": "6",
        "TASKS__HEARTBEAT_SECONDS": "1",
    }
    return {**environment, "REDIS_URL": own_redis.url, **settings}


@pytest.fixture(scope="module")
def start_web(
    environment: dict[str, str], tmp_path_factory: pytest.TempPathFactory
) -> Iterator[Callable[..., Web]]:
    """Start a web process: ``start_web()``, or again on the port of one that has ended."""
    made: list[Web] = []

    def start(port: int = 0) -> Web:
        web = Web(tmp_path_factory.mktemp("web") / "log", environment, port or free_port())
        made.append(web)
        web.wait_ready()
        return web

    yield start
    for web in made:
        web.kill()


class Storm:
    """Jobs that report twenty times a second while the file ``busy`` is there."""

    def __init__(self, folder: Path) -> None:
        self.busy, self.stop = folder / "busy", folder / "stop"
        params = {"busy": str(self.busy), "stop": str(self.stop)}
        self.jobs: list[UUID] = [enqueue("flow.live", params).id for _ in range(COUNT)]

    def wait_running(self) -> None:
        rows = Job.objects.filter(id__in=self.jobs, state=State.RUNNING)
        wait_until(lambda: rows.count() == COUNT, 120)

    async def blow(self, seconds: float) -> None:
        """Report, for a while at least."""
        self.busy.touch()
        await asyncio.sleep(seconds)

    async def calm(self, look: Onlookers) -> None:
        """Stand still."""
        self.busy.unlink()
        await look.still()


def test_pages_show_what_is_so_whatever_breaks(
    start_web: Callable[..., Web],
    start_worker: Callable[..., Worker],
    own_redis: RedisServer,
    tmp_path: Path,
) -> None:
    storm = Storm(tmp_path)
    # Threads: fifty runs side by side need no fifty processes.
    worker = start_worker(
        "-P", "threads", "-c", str(COUNT), "-Q", "live", TASKS__RESERVED_HIGH_PRIORITY_SLOTS="0"
    )
    webs = [start_web(), start_web()]
    storm.wait_running()
    cookie = session_cookie()
    took: dict[str, float] = {}

    async def story() -> None:
        look = Onlookers(cookie, storm.jobs)
        wide = look.open(webs[0], {"a": "type::flow.live"})
        look.open(webs[1], {"a": "type::flow.live", "one": f"job:{storm.jobs[0]}"})
        lossy = look.open(webs[0], {"a": "jobs"}, drops=0.1)
        look.open(webs[1], {"a": "jobs"}, drops=0.1)
        for n in range(NARROW):
            look.open(webs[n % 2], {"j": f"job:{storm.jobs[n % COUNT]}"})
        await look.all_synced()
        memory = webs[0].memory
        deaf = Deaf(webs[0], cookie)

        async def settle(what: str) -> None:
            await storm.calm(look)
            took[what] = max(took.get(what, 0.0), await look.agree())

        for _ in range(TIMES):
            await storm.blow(STORM_SECONDS)
            await settle("storm")

            await storm.blow(STORM_SECONDS)
            own_redis.restart()
            await storm.blow(1.0)
            await settle("Redis restarted")
            assert webs[0].memory - memory < MEMORY_GROWTH, "a client that never reads costs memory"

            await storm.blow(1.0)
            webs[1].send(signal.SIGKILL)
            webs[1].exit_code()
            webs[1] = await asyncio.to_thread(start_web, webs[1].port)
            await settle("web restarted")

        assert max(wide.seen.per_job.values()) <= 4 * (wide.seen.seconds() + 1)
        assert wide.seen.events >= COUNT, "they were told one by one"
        assert lossy.seen.dropped > 0
        await deaf.close()
        await storm.blow(0.5)
        worker.kill()
        await settle("worker killed")
        await look.close()

    asyncio.run(story())
    storm.stop.touch()
    for what, seconds in took.items():
        print(f"{what}: every page was right after {seconds:.2f} s")
    assert max(took.values()) < LIMIT


def test_an_end_that_nobody_could_tell_is_seen(
    start_web: Callable[..., Web], start_worker: Callable[..., Worker]
) -> None:
    """The process dies between the commit and the hint."""
    web, cookie = start_web(), session_cookie()
    job_id = enqueue("flow.mute").id
    assert job_id is not None
    done = Job.objects.filter(id=job_id, state=State.COMPLETED)

    async def story() -> None:
        look = Onlookers(cookie, [job_id])
        look.open(web, {"a": "type::flow.mute", "b": f"job:{job_id}"})
        await look.all_synced()
        await asyncio.to_thread(start_worker, "-c", "1", "-Q", "mute")
        await soon(lambda: look.desk.ask(done.exists))
        await look.agree()
        await look.close()

    asyncio.run(story())


def test_requests_are_answered_while_two_hundred_pages_come_back_in_the_same_moment(
    start_web: Callable[..., Web],
) -> None:
    web, cookie, job_id = start_web(), session_cookie(), enqueue("flow.live", {"busy": "", "stop": ""}).id
    slowest = 0.0

    async def story() -> None:
        nonlocal slowest
        look = Onlookers(cookie, [])
        for _ in range(200):
            look.open(web, {"a": f"job:{job_id}"})
        await look.all_synced()
        web.send(signal.SIGKILL)
        await asyncio.to_thread(web.exit_code)
        again = await asyncio.to_thread(start_web, web.port)
        asking = f"{again.origin}/live/poll?topic=job:{job_id}"
        async with httpx.AsyncClient(headers={"Cookie": cookie}) as client:
            while not all(page.synced and page.seen.connections == 2 for page in look.pages):
                began = time.monotonic()
                (await client.get(asking, timeout=LIMIT + 1)).raise_for_status()
                slowest = max(slowest, time.monotonic() - began)
        await look.close()

    asyncio.run(story())
    print(f"the slowest answer took {slowest:.2f} s")
    assert 0 < slowest < LIMIT
