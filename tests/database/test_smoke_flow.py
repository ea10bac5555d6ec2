"""The shortest way of a job, by hand."""

from __future__ import annotations

from jobsplatform.testing.platform import HandPlatform
from tasks.handlers import job
from tasks.states import State


def test_a_job_is_submitted_dispatched_run_and_completed(jobs: HandPlatform) -> None:
    @job("smoke.add")
    def add(a: int, b: int = 2) -> int:
        return a + b

    job_id = jobs.submit(add, {"a": 1})
    assert jobs.state(job_id) is State.PENDING
    claimed = jobs.worker.dispatch()
    assert [c.job_id for c in claimed] == [job_id]
    assert jobs.state(job_id) is State.DISPATCHED
    jobs.worker.run()
    done = jobs.job(job_id)
    assert (done.state, done.result, done.params) == (State.COMPLETED, 3, {"a": 1, "b": 2})


def test_inline_runs_in_the_caller(jobs_inline: None) -> None:
    @job("smoke.inline")
    def double(n: int) -> int:
        return n * 2

    from tasks import queries

    result = double.enqueue(n=4)
    assert queries.get_job(result.id).result == 8
