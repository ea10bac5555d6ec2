"""The broker forgets, repeats and restarts; jobs run once each all the same."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from jobsplatform.celery import app
from jobsplatform.kernel.audit import Actor
from tasks import control
from tasks.states import State
from tasks.submit import enqueue
from tasks.worker.sender import direct
from tests.flows.processes import Worker, ended, in_state, notes, until
from tests.services import RedisServer, start_redis

pytestmark = pytest.mark.flow


@pytest.fixture(scope="module")
def own_redis() -> Iterator[RedisServer]:
    with start_redis() as server:
        yield server


def test_a_visibility_timeout_shorter_than_the_job(
    start_worker: Callable[..., Worker], path: str, tmp_path: Path
) -> None:
    short = "tests.flows.flowapp.short_visibility"
    workers = [start_worker("-c", "1", "-n", f"{name}@host", app=short) for name in "ab"]
    job_id = enqueue("flow.until", {"path": path, "go": str(tmp_path / "go")}).id
    until(lambda: notes(path))
    started = [worker.row.heartbeat_at for worker in workers if worker.row]
    until(
        lambda: all(
            w.row and (w.row.heartbeat_at - at).total_seconds() > 2.5
            for w, at in zip(workers, started, strict=True)
        )
    )
    (tmp_path / "go").touch()
    job = ended(job_id)
    assert (job.state, job.lease, len(notes(path))) == (State.COMPLETED, 1, 1)
    for worker in workers:
        worker.kill()


def test_redis_restarts_with_jobs_queued(start_worker: Callable[..., Worker], own_redis: RedisServer) -> None:
    worker = start_worker("-c", "2", REDIS_URL=own_redis.url)
    for restart in (own_redis.restart, lambda: (own_redis.kill(), own_redis.start())):
        jobs = [enqueue("flow.add", {"a": n, "b": 0}).id for n in range(25)]
        restart()
        assert [ended(job).result for job in jobs] == list(range(25))
    assert worker.process.poll() is None
    worker.kill()


def test_jobs_wait_while_redis_is_away(start_worker: Callable[..., Worker], own_redis: RedisServer) -> None:
    worker = start_worker("-c", "1", REDIS_URL=own_redis.url)
    own_redis.halt()
    job_id = enqueue("flow.add", {"a": 1, "b": 1}).id
    until(lambda: worker.events("broker.away"))
    own_redis.start()
    assert ended(job_id).state == State.COMPLETED
    assert worker.process.poll() is None
    worker.kill()


def test_a_worker_that_takes_no_messages_ends(start_worker: Callable[..., Worker], path: str) -> None:
    worker = start_worker("-c", "1", TASKS__WATCHDOG_SECONDS="2")
    app.control.cancel_consumer(direct(worker.process_id).name, reply=True, timeout=5)
    job_id = enqueue("flow.work", {"path": path}).id
    assert worker.exit_code() == 1
    (line,) = worker.events("worker.exits")
    assert "have started nothing" in line["text"]
    job = in_state(job_id, State.PENDING)
    assert (notes(path), job.failures) == ([], 0)
    control.cancel(job_id, actor=Actor.system("test"))
