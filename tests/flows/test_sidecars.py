"""Sidecars beside a real web process: killed, cut off, and waiting in numbers."""

from __future__ import annotations

import logging
import signal
import socket
import sys
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any
from uuid import UUID, uuid4

import httpx
import psutil
import pytest

from jobsplatform.kernel import app_rows, clock, tokens
from jobsplatform.kernel.audit import Actor
from jobsplatform.kernel.models import Process
from tasks.models import Job
from tasks.states import State
from tasks.submit import enqueue
from tests.flows.processes import Command, Worker, ended, in_state, notes, until

pytestmark = pytest.mark.flow
logging.getLogger("httpx").setLevel(logging.WARNING)

HOST = "127.0.0.1"
MANY = 200


class Web:
    """A web process at one port, which can be killed and started again."""

    def __init__(self, folder: Path, environment: dict[str, str]) -> None:
        with socket.socket() as free:
            free.bind((HOST, 0))
            self.port = free.getsockname()[1]
        self.url = f"http://{HOST}:{self.port}"
        self._folder, self._environment, self._starts = folder, environment, 0
        self.process: Command | None = None

    def start(self) -> None:
        self._starts += 1
        command = [sys.executable, "-m", "uvicorn", "jobsplatform.asgi:application", "--port", str(self.port)]
        self.process = Command(self._folder / f"web{self._starts}", self._environment, command)

        def up() -> bool:
            try:
                return httpx.get(f"{self.url}/health/live", timeout=1.0).status_code < 500
            except httpx.HTTPError:
                return False

        until(up)

    def kill(self) -> None:
        if self.process is not None:
            self.process.kill()
            self.process = None


class Bus:
    """A client of the app ``flowside``."""

    def __init__(self, web: Web) -> None:
        app, _ = app_rows.ensure("flowside", actor=Actor("test", "system"))
        _, self.token = tokens.mint(
            app,
            name="flow",
            scopes=tokens.SCOPES,
            expires_at=None,
            actor=Actor("test", "system"),
            now=clock.now(),
        )
        self.web = web
        self.http = httpx.Client(
            base_url=f"{web.url}/bus/v1/",
            headers={"Authorization": f"Bearer {self.token}"},
            timeout=60.0,
            limits=httpx.Limits(max_connections=2 * MANY),
        )

    def ok(self, method: str, body: dict[str, Any]) -> dict[str, Any]:
        answer = self.http.post(method, json=body)
        assert answer.status_code == 200, answer.text
        found: dict[str, Any] = answer.json()
        return found

    def bind(self, job_type: str, **spec: Any) -> None:
        self.ok("jobs.register_handler", {"job_type": job_type, "service": "flow", "spec": spec})

    def create(self, job_type: str, **params: Any) -> UUID:
        return UUID(self.ok("jobs.create", {"job_type": job_type, "params": params})["id"])


@pytest.fixture(scope="module")
def web(environment: dict[str, str], tmp_path_factory: pytest.TempPathFactory) -> Iterator[Web]:
    made = Web(tmp_path_factory.mktemp("web"), environment)
    made.start()
    yield made
    made.kill()


@pytest.fixture
def bus(web: Web) -> Iterator[Bus]:
    made = Bus(web)
    made.bind("wait")
    yield made
    made.http.close()


@pytest.fixture
def start_sidecar(bus: Bus, environment: dict[str, str], tmp_path: Path) -> Iterator[Callable[[], Command]]:
    started: list[Command] = []

    def start() -> Command:
        script = Path(__file__).with_name("sidecar.py")
        command = [sys.executable, str(script), bus.web.url, bus.token]
        made = Command(tmp_path / f"sidecar{len(started)}", environment, command)
        started.append(made)
        assert made.said("ready.")
        return made

    yield start
    for each in started:
        each.kill()


@pytest.fixture(scope="module")
def worker(start_worker: Callable[..., Worker]) -> Worker:
    """One slot, and the sweeper."""
    return start_worker("-c", "1")


def test_jobs_of_a_killed_sidecar_run_elsewhere(
    worker: Worker, bus: Bus, start_sidecar: Callable[[], Command], path: str, tmp_path: Path
) -> None:
    go = tmp_path / "go"
    first = start_sidecar()
    job_id = bus.create("wait", path=path, go=str(go))
    until(lambda: notes(path))
    second = start_sidecar()
    first.send(signal.SIGKILL)
    until(lambda: len(notes(path)) == 2)
    go.touch()
    job = ended(job_id)
    assert notes(path) == [first.pid, second.pid]
    assert (job.state, job.losses, job.failures, job.lease) == (State.COMPLETED, 1, 0, 2)
    assert job.result["pid"] == second.pid
    assert Process.objects.filter(role="sidecar", app_id="flowside", lost_at__isnull=False).exists()


def test_a_restart_of_the_platform_does_not_cost_a_run(
    worker: Worker, bus: Bus, web: Web, start_sidecar: Callable[[], Command], path: str, tmp_path: Path
) -> None:
    go = tmp_path / "go"
    start_sidecar()
    job_id = bus.create("wait", path=path, go=str(go))
    until(lambda: notes(path))
    web.kill()
    # Longer than a lease, with a worker there that would rescue.
    silent = clock.now()
    until(lambda: (clock.now() - silent).total_seconds() > 3.0)
    assert Job.objects.get(id=job_id).state == State.RUNNING
    web.start()
    until(lambda: Process.objects.filter(role="sidecar", heartbeat_at__gt=silent, lost_at=None).exists())
    go.touch()
    job = ended(job_id)
    assert (job.state, job.losses, job.lease) == (State.COMPLETED, 0, 1)
    assert len(notes(path)) == 1


def test_two_hundred_slow_jobs_hold_no_slot_of_a_worker(worker: Worker, bus: Bus) -> None:
    bus.bind("slow")
    for _ in range(2):
        bus.ok("jobs.create_many", {"jobs": [{"job_type": "slow"}] * (MANY // 2)})
    runner = str(uuid4())
    wish = {"runner_id": runner, "job_types": ["slow"], "limit": 100, "capacity": MANY + 1}
    runs: list[dict[str, Any]] = []
    while len(runs) < MANY:
        given = bus.ok("jobs.claim", {**wish, "wait_seconds": 5})["jobs"]
        assert given
        runs += [{"id": each["job"]["id"], "lease": each["lease"]} for each in given]
    bus.ok("jobs.heartbeat", {"runner_id": runner, "running": runs})
    # The worker's one slot is free.
    assert ended(enqueue("flow.add", {"a": 1, "b": 2}).id).result == 3
    assert all(
        each["held"] for each in bus.ok("jobs.heartbeat", {"runner_id": runner, "running": runs})["runs"]
    )
    assert bus.ok("jobs.heartbeat", {"runner_id": runner, "stopping": True})["runs"] == []
    bus.ok("jobs.cancel_by_filter", {"filter": {"types": ["slow"]}})


def test_sidecars_that_wait_hold_no_thread_and_are_woken_by_their_jobs(bus: Bus, web: Web) -> None:
    bus.bind("rare")
    assert web.process is not None
    process = psutil.Process(web.process.pid)
    wish = {"job_types": ["rare"], "wait_seconds": 30}

    def claim(_: int) -> list[Any]:
        runner = str(uuid4())
        while not (found := bus.ok("jobs.claim", {**wish, "runner_id": runner})["jobs"]):
            pass
        return list(found)

    with ThreadPoolExecutor(MANY) as pool:
        waiting = [pool.submit(claim, n) for n in range(MANY)]
        rows = Process.objects.filter(role="sidecar", handlers=["flowside:rare"], stopped_at=None)
        until(lambda: rows.count() == MANY)
        assert process.num_threads() < 60
        bus.ok("jobs.create_many", {"jobs": [{"job_type": "rare"}] * MANY})
        given = [job for each in waiting for job in each.result(timeout=120)]
    assert len({each["job"]["id"] for each in given}) == MANY
    bus.ok("jobs.cancel_by_filter", {"filter": {"types": ["rare"]}})


def test_a_run_past_its_limit_or_its_grace_ends_without_its_sidecar(worker: Worker, bus: Bus) -> None:
    bus.bind("deaf", timeout=1.0, max_attempts=1)
    bus.bind("stubborn", cancel_grace=0.5)
    runner = str(uuid4())
    late, told = bus.create("deaf"), bus.create("stubborn")
    wish = {"runner_id": runner, "job_types": ["deaf", "stubborn"], "limit": 2, "capacity": 5}
    given: list[dict[str, Any]] = []
    while len(given) < 2:
        given += bus.ok("jobs.claim", {**wish, "wait_seconds": 5})["jobs"]
    assert {each["job"]["id"] for each in given} == {str(late), str(told)}
    bus.ok("jobs.cancel", {"id": str(told)})
    runs = [{"id": each["job"]["id"], "lease": each["lease"]} for each in given]

    def given_up() -> bool:
        found = bus.ok("jobs.heartbeat", {"runner_id": runner, "running": runs})["runs"]
        return not any(each["held"] for each in found)

    until(given_up)
    timed_out, cancelled = in_state(late, State.FAILED), in_state(told, State.CANCELLED)
    assert (timed_out.cause, cancelled.reason) == ("timeout", "user")
