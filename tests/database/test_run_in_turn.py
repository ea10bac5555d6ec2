"""Several single messages handed to one process: each run for itself, the end of one written with the next start."""

from __future__ import annotations

from typing import Any
from uuid import UUID

import pytest
from django.db import OperationalError

from jobsplatform.kernel.ids import uuid7
from jobsplatform.testing.platform import ACTOR, HandPlatform
from tasks import control, finish_many, pace, run
from tasks.events import JobMoved, RunEnded, RunStarted
from tasks.handlers import FunctionHandler, job
from tasks.models import Job, JobAttempt
from tasks.outcomes import Fail, Outcome, Retry
from tasks.states import Cause, State
from tasks.worker import warden
from tasks.worker.losses import How, Loss

seen: list[Any] = []


@pytest.fixture(autouse=True)
def fresh() -> None:
    pace.forget()
    seen.clear()


@pytest.fixture
def work() -> FunctionHandler:
    @job("turn.work", timeout=30, max_attempts=1)
    def work(n: int, how: str = "ok") -> Any:
        seen.append((n, sorted(Job.objects.values_list("state", flat=True))))
        if how == "fail":
            raise Fail(f"{n} is broken", retryable=False)
        if how == "later":
            raise Retry(after=60)
        return Outcome(result={"n": n}, count=n)

    return work


def _claimed(jobs: HandPlatform, work: FunctionHandler, *hows: str) -> list[tuple[UUID, int]]:
    jobs.add_worker(concurrency=len(hows) + 1, queues=["default"])
    for n, how in enumerate(hows):
        jobs.submit(work, {"n": n, "how": how})
    return [(message.job_id, message.lease) for message in jobs.worker.dispatch()]


def _states(runs: list[tuple[UUID, int]]) -> list[str]:
    found = Job.objects.in_bulk([job_id for job_id, _ in runs])
    return [found[job_id].state for job_id, _ in runs]


def test_each_is_a_run_of_its_own(jobs: HandPlatform, work: FunctionHandler) -> None:
    runs = _claimed(jobs, work, "ok", "ok", "ok")
    assert run.run_in_turn(runs, jobs.worker.id, can_kill=False) == 3
    assert seen == [
        (0, ["dispatched", "dispatched", "running"]),
        (1, ["completed", "dispatched", "running"]),
        (2, ["completed", "completed", "running"]),
    ], "one begins when the one before it has ended on record"
    rows = JobAttempt.objects.order_by("job").values_list("job", "lease", "number", "outcome", "count")
    assert list(rows) == [(job_id, 1, 1, "complete", n) for n, (job_id, _) in enumerate(runs)]
    assert {(j.result["n"], j.slot, j.worker_id) for j in Job.objects.all()} == {
        (n, None, None) for n in range(3)
    }
    assert [e.job_id for e in jobs.told(RunStarted)] == [e.job_id for e in jobs.told(RunEnded)]
    moves = [e.move for e in jobs.told(JobMoved) if e.move in ("start", "complete")]
    assert sorted(moves) == ["complete"] * 3 + ["start"] * 3


def test_ends_that_are_not_plain_do_not_hold_up_the_next(jobs: HandPlatform, work: FunctionHandler) -> None:
    runs = _claimed(jobs, work, "fail", "ok", "later", "ok", "fail")
    assert run.run_in_turn(runs, jobs.worker.id, can_kill=False) == 5
    assert _states(runs) == [State.FAILED, State.COMPLETED, State.FAILED, State.COMPLETED, State.FAILED]


def test_one_that_was_cancelled_or_given_to_another_is_left_out(
    jobs: HandPlatform, work: FunctionHandler
) -> None:
    runs = _claimed(jobs, work, "ok", "ok", "ok", "ok")
    control.cancel(runs[1][0], actor=ACTOR)
    Job.objects.filter(id=runs[2][0]).update(lease=7)
    assert run.run_in_turn(runs, jobs.worker.id, can_kill=False) == 2
    assert _states(runs) == [State.COMPLETED, State.CANCELLED, State.DISPATCHED, State.COMPLETED]
    assert run.run_in_turn(runs, jobs.worker.id, can_kill=False) == 0, "a second delivery"


def test_a_message_that_came_twice_runs_once(jobs: HandPlatform, work: FunctionHandler) -> None:
    a, b = _claimed(jobs, work, "ok", "ok")
    assert run.run_in_turn([a, a, b, a, b, b], jobs.worker.id, can_kill=False) == 2
    assert [n for n, _ in seen] == [0, 1]
    assert _states([a, b]) == [State.COMPLETED, State.COMPLETED]


def test_nothing_runs_for_another_worker_or_a_forger(jobs: HandPlatform, work: FunctionHandler) -> None:
    runs = _claimed(jobs, work, "ok", "ok")
    assert run.run_in_turn(runs, uuid7(), can_kill=False) == 0
    assert run.run_in_turn([(uuid7(), 1), (uuid7(), 1)], jobs.worker.id, can_kill=False) == 0
    assert _states(runs) == [State.DISPATCHED, State.DISPATCHED]


def test_a_run_that_was_asked_to_stop_meanwhile_is_not_completed(jobs: HandPlatform) -> None:
    @job("turn.stopped")
    def stopped(n: int) -> None:
        if n == 0:
            control.cancel(runs[0][0], actor=ACTOR)

    jobs.add_worker(concurrency=3)
    for n in range(2):
        jobs.submit(stopped, {"n": n})
    runs = [(message.job_id, message.lease) for message in jobs.worker.dispatch()]
    assert run.run_in_turn(runs, jobs.worker.id, can_kill=False) == 2
    assert _states(runs) == [State.CANCELLED, State.COMPLETED]


def test_a_run_that_lost_its_lease_meanwhile_writes_nothing_and_the_next_runs(jobs: HandPlatform) -> None:
    @job("turn.robbed")
    def robbed(n: int) -> None:
        if n == 0:
            Job.objects.filter(id=runs[0][0]).update(lease=9)

    jobs.add_worker(concurrency=3)
    for n in range(2):
        jobs.submit(robbed, {"n": n})
    runs = [(message.job_id, message.lease) for message in jobs.worker.dispatch()]
    assert run.run_in_turn(runs, jobs.worker.id, can_kill=False) == 2
    assert _states(runs) == [State.RUNNING, State.COMPLETED]
    assert Job.objects.get(id=runs[0][0]).cause == Cause.NONE


def test_the_time_limit_of_each_counts_from_its_own_start(jobs: HandPlatform) -> None:
    limits: list[Any] = []

    @job("turn.timed", timeout=30)
    def timed(n: int) -> None:
        limits.append(Job.objects.values_list("deadline_at", flat=True).get(id=runs[n][0]) - jobs.clock.now())
        jobs.clock.advance(10)

    jobs.add_worker(concurrency=3)
    for n in range(2):
        jobs.submit(timed, {"n": n})
    runs = [(message.job_id, message.lease) for message in jobs.worker.dispatch()]
    run.run_in_turn(runs, jobs.worker.id, can_kill=False)
    assert [limit.total_seconds() for limit in limits] == [30, 30]


@pytest.mark.parametrize("committed", [False, True], ids=["not written", "written, the answer lost"])
def test_a_database_that_goes_away_between_two_runs_loses_neither(
    jobs: HandPlatform, work: FunctionHandler, monkeypatch: pytest.MonkeyPatch, committed: bool
) -> None:
    runs = _claimed(jobs, work, "ok", "ok", "ok")
    write = finish_many.complete_and_start

    def away(*given: Any) -> Any:
        if committed:
            write(*given)
        raise OperationalError("the connection is gone")

    monkeypatch.setattr(finish_many, "complete_and_start", away)
    with pytest.raises(OperationalError):
        run.run_in_turn(runs, jobs.worker.id, can_kill=False)
    assert [n for n, _ in seen] == [0]
    for key in runs:  # what the worker's main process does when its request fails
        warden.write(Loss(key, How.UNCLEAR, "the connection is gone"))
    assert _states(runs) == [State.COMPLETED, State.PENDING, State.PENDING]
    assert JobAttempt.objects.filter(job_id=runs[0][0]).count() == 1
    monkeypatch.undo()
    jobs.drain()
    assert [n for n, _ in seen] == [0, 1, 2]
    assert _states(runs) == [State.COMPLETED] * 3
