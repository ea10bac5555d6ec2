"""A job that waited past its latest start never begins; it ends cancelled, wherever it is looked at first."""

from __future__ import annotations

from collections.abc import Callable
from datetime import datetime, timedelta
from typing import Any
from uuid import UUID

import pytest

from jobsplatform.kernel.errors import InvalidInput
from jobsplatform.kernel.models import Tenant
from jobsplatform.testing import START
from jobsplatform.testing.platform import ACTOR, HandPlatform
from tasks import control, dispatch, inline, pace, run, submit
from tasks.handlers import FunctionHandler, job
from tasks.late import is_late
from tasks.models import Job
from tasks.outcomes import Retry
from tasks.requests import JobRequest
from tasks.states import Hold, State

RUNS: list[int] = []


@pytest.fixture
def work(jobs: HandPlatform) -> FunctionHandler:
    return declare()


def declare() -> FunctionHandler:
    RUNS.clear()
    pace.forget()

    @job("latest.work", max_attempts=3, concurrency_key=lambda params: "k" if params["keyed"] else "")
    def work(n: int = 0, fail: bool = False, keyed: bool = False) -> None:
        RUNS.append(n)
        if fail and RUNS.count(n) == 1:
            raise Retry(after=600)

    return work


def by(jobs: HandPlatform, seconds: float = 60) -> datetime:
    return jobs.clock.now() + timedelta(seconds=seconds)


def ended_late(jobs: HandPlatform, job_id: UUID) -> bool:
    row = jobs.job(job_id)
    if row.state != State.CANCELLED:
        return False
    assert (row.reason, row.cause, row.first_started_at) == ("latest_start", "cancelled", None)
    assert row.finished_at is not None and row.purge_at is not None and row.worker_id is None
    assert not row.attempts.exists() and RUNS == []
    return True


def test_in_time_it_runs_to_the_very_instant(jobs: HandPlatform, work: FunctionHandler) -> None:
    job_id = jobs.submit(work, latest_start_at=by(jobs))
    jobs.advance(60)
    jobs.drain()
    assert jobs.state(job_id) is State.COMPLETED


def test_the_claim_leaves_it_and_ends_it(jobs: HandPlatform, work: FunctionHandler) -> None:
    late = jobs.submit(work, latest_start_at=by(jobs))
    worker = jobs.add_worker(concurrency=1)
    jobs.advance(61)
    fine = jobs.submit(work, {"n": 1})
    assert [c.job_id for c in worker.dispatch()] == [fine], "what is too late takes nobody's place"
    assert ended_late(jobs, late)


def test_many_late_ones_do_not_stop_the_others(jobs: HandPlatform, work: FunctionHandler) -> None:
    late = [jobs.submit(work, latest_start_at=by(jobs)) for _ in range(30)]
    worker = jobs.add_worker(concurrency=2)
    jobs.advance(61)
    fine = jobs.submit(work, {"n": 1})
    assert [c.job_id for c in worker.dispatch()] == [fine]
    assert all(ended_late(jobs, job_id) for job_id in late)


def test_what_was_sent_and_begins_too_late_ends_without_its_handler(
    jobs: HandPlatform, work: FunctionHandler
) -> None:
    job_id = jobs.submit(work, latest_start_at=by(jobs))
    (message,) = jobs.worker.dispatch()
    jobs.advance(61)
    assert jobs.worker.run(message) is None
    assert ended_late(jobs, job_id)
    assert jobs.worker.run(message) is None, "its message may come again"


def test_a_lost_message_is_not_sent_again_too_late(jobs: HandPlatform, work: FunctionHandler) -> None:
    job_id = jobs.submit(work, latest_start_at=by(jobs, 1))
    jobs.worker.dispatch()
    jobs.advance(3600)
    assert jobs.worker.dispatch() == []
    assert ended_late(jobs, job_id)


def test_a_retry_is_not_late(jobs: HandPlatform, work: FunctionHandler) -> None:
    job_id = jobs.submit(work, {"fail": True}, latest_start_at=by(jobs))
    jobs.worker.work()
    jobs.advance(601)
    jobs.drain()
    assert jobs.state(job_id) is State.COMPLETED and RUNS == [0, 0]


def test_a_run_whose_worker_was_lost_is_not_late(jobs: HandPlatform, work: FunctionHandler) -> None:
    job_id = jobs.submit(work, latest_start_at=by(jobs))
    (message,) = jobs.worker.dispatch()
    run.begin(message.job_id, message.lease)
    jobs.worker.die()
    jobs.clock.advance(3600)
    jobs.rescue()
    jobs.add_worker()
    jobs.drain()
    assert jobs.state(job_id) is State.COMPLETED


def no_worker(jobs: HandPlatform, work: FunctionHandler) -> UUID:
    return jobs.submit(work, latest_start_at=by(jobs))


def for_later(jobs: HandPlatform, work: FunctionHandler) -> UUID:
    return jobs.submit(work, latest_start_at=by(jobs), run_after=by(jobs, 3600))


def held_for_overlap(jobs: HandPlatform, work: FunctionHandler) -> UUID:
    jobs.submit(work, overlap="skip", overlap_key="o")
    return jobs.submit(work, latest_start_at=by(jobs), overlap="buffer_one", overlap_key="o")


def of_a_sleeping_tenant(jobs: HandPlatform, work: FunctionHandler) -> UUID:
    Tenant.objects.create(tenant_id="t", state=Tenant.State.SUSPENDED)
    return jobs.submit(work, latest_start_at=by(jobs), tenant_id="t")


def of_a_suspended_type(jobs: HandPlatform, work: FunctionHandler) -> UUID:
    control.suspend("type", work.spec.key, actor=ACTOR)
    return jobs.submit(work, latest_start_at=by(jobs))


def behind_a_busy_key(jobs: HandPlatform, work: FunctionHandler) -> UUID:
    jobs.submit(work, {"keyed": True})
    jobs.worker.dispatch()
    job_id = jobs.submit(work, {"keyed": True}, latest_start_at=by(jobs))
    jobs.worker.dispatch()
    assert jobs.job(job_id).hold == Hold.KEY
    return job_id


def sent_to_a_worker_that_is_gone(jobs: HandPlatform, work: FunctionHandler) -> UUID:
    job_id = jobs.submit(work, latest_start_at=by(jobs))
    jobs.worker.dispatch()
    return job_id


@pytest.mark.parametrize(
    "stands",
    [
        no_worker,
        for_later,
        held_for_overlap,
        of_a_sleeping_tenant,
        of_a_suspended_type,
        behind_a_busy_key,
        sent_to_a_worker_that_is_gone,
    ],
)
def test_the_sweeper_ends_it_wherever_it_waits(
    jobs: HandPlatform, work: FunctionHandler, stands: Callable[[HandPlatform, FunctionHandler], UUID]
) -> None:
    job_id = stands(jobs, work)
    jobs.clock.advance(60)
    jobs.sweep()
    assert jobs.state(job_id) is not State.CANCELLED, "not before"
    jobs.clock.advance(1)
    jobs.sweep()
    assert ended_late(jobs, job_id)


def test_a_late_one_gives_its_overlap_key_to_the_next(jobs: HandPlatform, work: FunctionHandler) -> None:
    first = jobs.submit(work, latest_start_at=by(jobs), overlap="skip", overlap_key="o")
    second = jobs.submit(work, overlap="buffer_one", overlap_key="o")
    assert jobs.job(second).hold == Hold.OVERLAP
    jobs.advance(61)
    third = jobs.submit(work, overlap="skip", overlap_key="o")
    assert ended_late(jobs, first), "who looks at the key sees that it will never start"
    assert jobs.job(second).hold == Hold.NONE
    assert jobs.job(third).reason == "overlap"


def test_its_alias_takes_over(jobs: HandPlatform, work: FunctionHandler) -> None:
    leader = jobs.submit(work, latest_start_at=by(jobs), dedupe_key="d")
    alias = jobs.submit(work, dedupe_key="d")
    jobs.clock.advance(61)
    jobs.sweep()
    assert ended_late(jobs, leader)
    jobs.drain()
    assert jobs.state(alias) is State.COMPLETED


def test_a_retry_by_hand_has_no_latest_start_any_more(jobs: HandPlatform, work: FunctionHandler) -> None:
    job_id = jobs.submit(work, latest_start_at=by(jobs))
    jobs.clock.advance(61)
    jobs.sweep()
    control.retry(job_id, actor=ACTOR)
    jobs.drain()
    assert jobs.state(job_id) is State.COMPLETED


def test_it_is_never_packed_with_others(jobs: HandPlatform, work: FunctionHandler) -> None:
    pace.write(work.spec.key, 100, 0.0001)
    worker = jobs.add_worker(concurrency=1)
    plain = [JobRequest("latest.work", {"n": n}) for n in range(100)]
    timed = [JobRequest("latest.work", {"n": -1}, latest_start_at=by(jobs)) for _ in range(3)]
    made = submit.submit_many([*timed, *plain])
    by_itself = {result.id for result in made[:3]}
    sizes = {}
    while sent := worker.dispatch():
        for message in list(sent):
            sizes[message.job_id] = message.jobs
            worker.run(message)
    assert {sizes.pop(job_id) for job_id in by_itself if job_id} == {1}
    assert max(sizes.values()) > 1, "the others are"
    assert Job.objects.filter(state=State.COMPLETED).count() == 103


def test_one_statement_starts_it_or_not(jobs: HandPlatform, work: FunctionHandler) -> None:
    """Not a check before the start, which a pause of the process could come between."""
    job_id = jobs.submit(work, latest_start_at=by(jobs))
    (message,) = jobs.worker.dispatch()
    assert run.transitions.start(job_id, message.lease, by(jobs, 61)) is None
    assert jobs.state(job_id) is State.DISPATCHED
    assert run.transitions.start(job_id, message.lease, by(jobs, 60)) is not None


def test_a_claim_by_itself_leaves_it_alone(jobs: HandPlatform, work: FunctionHandler) -> None:
    job_id = jobs.submit(work, latest_start_at=by(jobs))
    jobs.advance(61)
    choice = dispatch.claim(jobs.worker.view, jobs.clock.now())
    assert choice.won == [] and choice.late == [job_id]
    assert jobs.state(job_id) is State.PENDING


def test_inline_too(jobs_inline: None, frozen_clock: Any) -> None:
    work = declare()
    control.suspend("type", work.spec.key, actor=ACTOR)
    job_id = submit.enqueue("latest.work", latest_start_at=START + timedelta(seconds=60)).id
    assert job_id is not None
    control.unsuspend("type", work.spec.key, actor=ACTOR)
    frozen_clock.advance(61)
    assert not inline.run_now(job_id)
    assert Job.objects.get(id=job_id).reason == "latest_start" and RUNS == []


@pytest.mark.parametrize("value", [datetime(2026, 1, 1), "soon", 5])  # noqa: DTZ001
def test_refused(jobs: HandPlatform, work: FunctionHandler, value: Any) -> None:
    with pytest.raises(InvalidInput, match="latest_start_at: expected"):
        submit.enqueue("latest.work", latest_start_at=value)


STATES = [State.PENDING, State.DISPATCHED, State.RUNNING, State.WAITING, State.PAUSED, State.CANCELLED]


@pytest.mark.parametrize("state", STATES)
@pytest.mark.parametrize("begun", [True, False])
@pytest.mark.parametrize("seconds", [-1, 0, 1, None])
def test_the_rule(state: State, begun: bool, seconds: int | None) -> None:
    latest = None if seconds is None else START + timedelta(seconds=seconds)
    row = Job(state=state, latest_start_at=latest, first_started_at=START if begun else None)
    late = state in (State.PENDING, State.DISPATCHED) and not begun and seconds == -1
    assert is_late(row, START) is late
