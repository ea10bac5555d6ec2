"""A broker that hands messages out twice."""

from __future__ import annotations

from collections.abc import Callable
from datetime import timedelta

import pytest

from jobsplatform.kernel import clock
from tasks.states import State
from tasks.submit import enqueue
from tests.flows.processes import Worker, ended, notes, until

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
