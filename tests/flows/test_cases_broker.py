"""A broker that hands messages out twice, or becomes a read-only replica for a while."""

from __future__ import annotations

from collections.abc import Callable
from datetime import timedelta

import pytest

from jobsplatform.kernel import clock
from tasks.states import State
from tasks.submit import enqueue
from tests.flows.processes import Worker, ended, notes, until
from tests.services import start_redis

pytestmark = pytest.mark.flow


def test_a_job_delayed_past_the_visibility_timeout_runs_once(
    start_worker: Callable[..., Worker], path: str
) -> None:
    app = "tests.flows.flowapp.short_visibility"
    workers = [start_worker("-c", "1", "-n", f"late-{name}@host", app=app) for name in "ab"]
    due = clock.now() + timedelta(seconds=3)
    job_id = enqueue("flow.work", {"path": path}, run_after=due).id
    job = ended(job_id)
    assert job.started_at is not None and job.started_at >= due
    # Two visibility timeouts of one second later there is still one start.
    until(lambda: all(w.row and w.row.heartbeat_at > job.started_at + timedelta(seconds=2) for w in workers))
    assert (job.state, job.lease, len(notes(path))) == (State.COMPLETED, 1, 1)
    for worker in workers:
        worker.kill()


def test_a_redis_that_became_read_only_and_came_back(start_worker: Callable[..., Worker], path: str) -> None:
    with start_redis() as redis:
        worker = start_worker("-c", "2", "-n", "failover@host", REDIS_URL=redis.url)
        client = redis.client()
        client.execute_command("REPLICAOF", "127.0.0.1", "1")
        made = [enqueue("flow.work", {"path": f"{path}.{n}"}).id for n in range(10)]
        until(
            lambda: any(word in worker.output for word in ("READONLY", "UNBLOCKED", "broker.away", "retry"))
        )
        assert worker.process.poll() is None
        client.execute_command("REPLICAOF", "NO", "ONE")
        assert [ended(job_id).state for job_id in made] == [State.COMPLETED] * 10
        assert [len(notes(f"{path}.{n}")) for n in range(10)] == [1] * 10, "none was doubled"
        assert worker.process.poll() is None
        worker.kill()
