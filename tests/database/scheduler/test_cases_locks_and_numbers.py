"""One at a time whatever becomes of a run, and many schedules at once; cranked by hand."""

from __future__ import annotations

from collections.abc import Callable
from datetime import datetime
from typing import Any

import pytest
from django.db import connection
from django.test.utils import CaptureQueriesContext

from jobsplatform.kernel import clock, config
from jobsplatform.testing.platform import HandPlatform
from scheduler import planner
from scheduler.models import ScheduleTriggerLog
from tasks import finish
from tasks.handlers import job
from tasks.models import Job
from tasks.states import State
from tests.database.scheduler.tools import at, create, fired, tick


@pytest.fixture
def alone(jobs: HandPlatform) -> None:
    @job("tests.alone", exclusive=True, timeout=5, max_attempts=1)
    def alone() -> None: ...

    create(job="tests.alone", every=10, anchor="2026-01-01T12:00:00Z", grace=1, overlap="skip")


def next_slot(jobs: HandPlatform) -> None:
    """The clock stands there, and the slot is planned."""
    jobs.advance(10 - clock.now().second % 10)
    tick()


def test_a_job_longer_than_the_lock_never_runs_twice_at_once(jobs: HandPlatform) -> None:
    spans: list[tuple[datetime, datetime]] = []

    @job("tests.long", exclusive=True)
    def long() -> None:
        begun = clock.now()
        for _ in range(5):
            jobs.advance(20)
            tick()
            assert jobs.worker.dispatch() == []
        spans.append((begun, clock.now()))

    with config.override(scheduler={"lock_ttl_seconds": 30}):
        create(job="tests.long", every=20, anchor="2026-01-01T12:00:00Z", grace=1)
        while clock.now() < at(12, 5):
            jobs.advance(20)
            tick()
            jobs.drain()
    assert len(spans) >= 3
    assert all(ended <= begun for (_, ended), (begun, _) in zip(spans, spans[1:], strict=False))


def test_a_killed_worker_leaves_no_lock_behind(jobs: HandPlatform, alone: None) -> None:
    next_slot(jobs)
    jobs.worker.dispatch()
    jobs.worker.crash("start", whole_worker=True)
    second = jobs.add_worker()
    jobs.advance(config.get().tasks.lease_seconds + 1)
    jobs.rescue()
    jobs.drain()
    assert Job.objects.get().state == State.COMPLETED, "the run that was killed comes back"
    ran = len(fired())
    next_slot(jobs)
    assert len(fired()) == ran + 1
    assert second.work() == 1
    assert not Job.objects.exclude(state=State.COMPLETED).exists()


def test_a_hard_time_limit_leaves_no_lock_behind(jobs: HandPlatform, alone: None) -> None:
    next_slot(jobs)
    (message,) = jobs.worker.dispatch()
    killed: list[Any] = []

    def long(handler_job: Job, _: Any) -> Any:
        jobs.advance(5)
        killed.append(finish.timed_out(handler_job.id, handler_job.lease, clock.now()))
        raise KilledByLimit

    class KilledByLimit(BaseException):
        """As the pool does: no finally block of the run's process is reached."""

    jobs.make_port, ordinary = long, jobs.make_port
    with pytest.raises(KilledByLimit):
        jobs.worker.run(message)
    jobs.make_port = ordinary
    ended = Job.objects.get()
    assert killed[0] is not None and ended.state == State.FAILED and "time limit" in ended.error
    next_slot(jobs)
    jobs.drain()
    assert Job.objects.order_by("-planned_at")[0].state == State.COMPLETED


@pytest.fixture
def many(jobs: HandPlatform) -> Callable[[int], None]:
    @job("tests.work")
    def work() -> None: ...

    made: list[str] = []

    def make(count: int) -> None:
        for _ in range(count):
            made.append(f"n{len(made):05}")
            jobs.schedule("tests.work", id=made[-1], cron="*/5 * * * *")

    return make


def test_all_of_many_schedules_of_one_minute_are_made_in_full_batches(
    jobs: HandPlatform, many: Callable[[int], None]
) -> None:
    many(300)
    with config.override(scheduler={"batch": 60}):
        jobs.plan()
        jobs.clock.set(at(12, 5))
        rounds = 1
        while planner.step(clock.now()).more:
            rounds += 1
    assert rounds <= 6
    rows = ScheduleTriggerLog.objects.values_list("schedule_id", "planned_at", "status").distinct()
    assert set(rows) == {(f"n{n:05}", at(12, 5), "fired") for n in range(300)}
    assert Job.objects.count() == 300


def test_one_more_schedule_costs_the_same_however_many_there_are(
    jobs: HandPlatform, many: Callable[[int], None]
) -> None:
    costs, looked_at = [], []
    for n in range(3):
        many(1 if n == 0 else 100)
        jobs.plan()
        with CaptureQueriesContext(connection) as seen:
            create(f"added{n}", cron="0 20 * * *")
            planner.edited_outside(clock.now())
            looked_at.append(planner.step(clock.now()).checked)
        costs.append(len(seen))
        jobs.advance(1)
    assert looked_at == [0, 0, 0], "its first slot is known when it is made; the others are not read again"
    assert len(set(costs)) == 1, costs
