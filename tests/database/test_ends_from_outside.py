"""Deferred jobs: ended by somebody outside, or by their deadline; and endings that a row alone asks for."""

from __future__ import annotations

import pytest

from jobsplatform.kernel import clock
from jobsplatform.kernel.errors import InvalidInput
from jobsplatform.testing.platform import HandPlatform
from tasks import finish
from tasks.context import Child, JobContext
from tasks.handlers import job
from tasks.models import Job, JobAttempt
from tasks.outcomes import Deferred, Ending
from tasks.states import CancelReason, State


def deferred(jobs: HandPlatform) -> Job:
    """A job that waits for its end from outside, for a minute at most."""

    @job("outside.deferred", max_attempts=3)
    def later() -> None:
        raise Deferred(60)

    job_id = jobs.submit(later)
    jobs.worker.work()
    assert jobs.state(job_id) is State.WAITING
    return jobs.job(job_id)


@pytest.mark.parametrize(
    ("ending", "state", "failures"),
    [
        (Ending("completed", result=5), State.COMPLETED, 0),
        (Ending("failed", error="no"), State.PENDING, 1),
        (Ending("failed", error="no", retryable=False), State.FAILED, 1),
        (Ending("retry", after=5.0), State.PENDING, 1),
        (Ending("discarded", reason="not wanted"), State.CANCELLED, 0),
    ],
)
def test_each_end_from_outside(jobs: HandPlatform, ending: Ending, state: State, failures: int) -> None:
    row = deferred(jobs)
    assert finish.from_outside(row.id, row.lease - 1, ending, clock.now()) is None
    done = finish.from_outside(row.id, row.lease, ending, clock.now())
    assert done is not None and done.state is state
    after = jobs.job(row.id)
    assert (after.state, after.failures, after.open_end, after.deadline_at) == (state, failures, False, None)
    assert finish.from_outside(row.id, row.lease, ending, clock.now()) is None
    assert JobAttempt.objects.filter(job=row).count() == 1


@pytest.mark.parametrize("kind", ["snoozed", "paused", "deferred", "lost", "cancelled", "stale"])
def test_an_end_that_only_a_run_can_have_is_refused(jobs: HandPlatform, kind: str) -> None:
    row = deferred(jobs)
    with pytest.raises(InvalidInput, match=f"cannot be {kind} from outside"):
        finish.from_outside(row.id, row.lease, Ending(kind), clock.now())  # type: ignore[arg-type]
    assert jobs.state(row.id) is State.WAITING


def test_past_its_deadline_it_fails_for_good(jobs: HandPlatform) -> None:
    row = deferred(jobs)
    jobs.advance(59)
    jobs.sweep()
    assert jobs.state(row.id) is State.WAITING
    jobs.advance(1)
    jobs.sweep()
    after = jobs.job(row.id)
    assert (after.state, after.cause, after.failures) == (State.FAILED, "timeout", 1)


def test_completed_from_outside_it_still_waits_for_its_children(jobs: HandPlatform) -> None:
    @job("outside.child")
    def child() -> None: ...

    @job("outside.parent")
    def parent(ctx: JobContext) -> None:
        ctx.spawn([Child(child, {}, "a")])
        raise Deferred(60)

    parent_id = jobs.submit(parent)
    worker = jobs.worker
    worker.dispatch()
    worker.run()
    row = jobs.job(parent_id)
    assert (row.state, row.open_end) == (State.WAITING, True)
    finish.from_outside(row.id, row.lease, Ending("completed", result="done"), clock.now())
    row = jobs.job(parent_id)
    assert (row.state, row.open_end, row.result, row.deadline_at) == (State.WAITING, False, "done", None)
    worker.work()
    assert jobs.state(parent_id) is State.COMPLETED


@pytest.mark.parametrize(("attempts", "state"), [(1, State.FAILED), (2, State.PENDING)])
def test_a_run_killed_for_its_time_limit_fails_as_a_timeout(
    jobs: HandPlatform, attempts: int, state: State
) -> None:
    """Asked by the row to stop for its time limit, and deaf: the kill uses an attempt and waits its backoff."""

    @job("outside.deaf", max_attempts=attempts)
    def deaf() -> None: ...

    job_id = jobs.submit(deaf)
    [message] = jobs.worker.dispatch()
    Job.objects.filter(id=job_id).update(
        cancel_reason=CancelReason.TIMEOUT,
        cancel_requested_at=clock.now(),
        state=State.RUNNING,
        started_at=clock.now(),
    )
    assert finish.killed(job_id, message.lease, clock.now()) is not None
    after = jobs.job(job_id)
    assert (after.state, after.cause, after.failures) == (state, "timeout", 1)
