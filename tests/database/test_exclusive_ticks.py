"""Ticks of exclusive types: live ones and manual triggers are skipped beside an unfinished job; the rest wait."""

from __future__ import annotations

from typing import Any

import pytest

from jobsplatform.kernel import config
from jobsplatform.testing.factory import make_job
from jobsplatform.testing.platform import HandPlatform
from tasks import submit
from tasks.events import TickSkipped
from tasks.handlers import FunctionHandler, job
from tasks.models import Job
from tasks.requests import JobRequest
from tasks.states import ACTIVE, FINAL, State

MINUTE = 60_000


@pytest.fixture(autouse=True)
def alone(jobs: HandPlatform) -> Any:
    with config.override(tasks={"reserved_high_priority_slots": 0}):

        @job("tick.alone", exclusive=True)
        def alone() -> None: ...

        @job("tick.plain")
        def plain() -> None: ...

        yield alone


def tick(job_type: str = "tick.alone", interval: int | None = MINUTE, **fields: Any) -> submit.SubmitResult:
    return submit.enqueue(job_type, tick_interval_ms=interval, **fields)


@pytest.mark.parametrize("state", sorted(ACTIVE))
@pytest.mark.parametrize("interval", [MINUTE, 0])
def test_beside_an_unfinished_job_in_any_state_it_is_skipped_and_told(
    jobs: HandPlatform, alone: FunctionHandler, state: State, interval: int
) -> None:
    busy = make_job(state, job_type=alone)
    jobs.clock.advance(2.5)
    origin = "live" if interval else "manual"
    result = tick(interval=interval, origin=origin)
    assert (result.id, result.status, result.leader_id) == (None, "skipped", busy.id)
    assert result.outcome == {"skipped": "already_running"}
    (told,) = jobs.told(TickSkipped)
    assert (told.job, told.interval_ms, told.running_for_ms) == ("tick.alone", interval, 2500)
    assert Job.objects.count() == 1


@pytest.mark.parametrize("state", sorted(FINAL))
def test_beside_an_ended_job_it_is_made(jobs: HandPlatform, alone: FunctionHandler, state: State) -> None:
    make_job(state, job_type=alone)
    assert tick().status == "created"
    assert jobs.told(TickSkipped) == []


@pytest.mark.parametrize("origin", ["catch_up", "backfill"])
def test_made_up_slots_wait_their_turn_and_run_in_order(jobs: HandPlatform, origin: str) -> None:
    assert tick().status == "created"
    made = [tick(interval=None, origin=origin) for _ in range(3)]
    assert {result.status for result in made} == {"created"}
    assert tick().status == "skipped", "a live tick does not queue behind them"
    order = []
    while sent := jobs.worker.dispatch():
        assert len(sent) == 1, "never two at once"
        order.append(sent[0].job_id)
        jobs.worker.run()
    assert order[1:] == [result.id for result in made]


def test_of_two_ticks_in_one_submit_one_is_made(jobs: HandPlatform) -> None:
    made = submit.submit_many([JobRequest("tick.alone", tick_interval_ms=n) for n in (MINUTE, 0)])
    assert [result.status for result in made] == ["created", "skipped"]


def test_types_that_are_not_exclusive_are_never_skipped(jobs: HandPlatform) -> None:
    assert [tick("tick.plain").status for _ in range(2)] == ["created", "created"]


@pytest.mark.parametrize(
    ("policy", "stands"),
    [("skip", "cancelled"), ("buffer_one", "pending"), ("buffer_all", "pending"), ("allow", "pending")],
)
def test_an_overlap_policy_comes_before_the_skip_and_still_runs_one_at_a_time(
    jobs: HandPlatform, policy: str, stands: str
) -> None:
    first, second = (tick(overlap=policy, overlap_key="k") for _ in range(2))
    assert (first.status, second.status) == ("created", "created")
    assert first.id and second.id
    assert jobs.state(second.id) == stands
    assert jobs.told(TickSkipped) == []
    assert [claimed.job_id for claimed in jobs.worker.dispatch()] == [first.id]
    jobs.drain()
    assert jobs.state(first.id) is State.COMPLETED
    assert jobs.state(second.id) is (State.CANCELLED if policy == "skip" else State.COMPLETED)


def test_two_schedules_of_one_exclusive_type_go_one_at_a_time_whatever_their_keys(jobs: HandPlatform) -> None:
    for key in ("a", "b"):
        assert tick(overlap="buffer_all", overlap_key=key).status == "created"
    assert len(jobs.worker.dispatch()) == 1
