"""The pause that a schedule earns by failures in a row."""

from __future__ import annotations

import pytest

from jobsplatform.testing.platform import HandPlatform
from scheduler import pauses
from scheduler.models import Pause
from tasks import control as tasks_control
from tasks.handlers import job
from tasks.models import Job
from tests.database.scheduler.tools import ACTOR, at, audited, create, edit, fired, state, turn


@pytest.fixture(autouse=True)
def work(jobs: HandPlatform) -> None:
    @job("tests.work", max_attempts=1)
    def work(fails: bool = True) -> None:
        if fails:
            raise ValueError("no")

    jobs.add_worker()


def run_minutes(jobs: HandPlatform, first: int, last: int) -> None:
    for minute in range(first, last + 1):
        turn(jobs, at(12, minute))
        jobs.drain()


def test_three_failures_in_a_row_pause_the_schedule(jobs: HandPlatform) -> None:
    create(pause_after_failures=3)
    run_minutes(jobs, 1, 6)
    assert fired() == ["12:01:00", "12:02:00", "12:03:00"]
    row = Pause.objects.get()
    assert row.automatic and row.lifted_at is None
    assert row.reason.startswith("3 failures in a row")
    assert audited("schedule.pause").actor == "failures in a row"
    assert state().next_due_at is None


def test_a_good_run_in_between_begins_the_count_anew(jobs: HandPlatform) -> None:
    create(pause_after_failures=2)
    for minute, fails in ((1, True), (2, False), (3, True), (4, False), (5, True)):
        edit(params={"fails": fails})
        run_minutes(jobs, minute, minute)
    assert not Pause.objects.exists()
    assert len(fired()) == 5


def test_cancelled_runs_count_neither_way(jobs: HandPlatform) -> None:
    create(pause_after_failures=2)
    run_minutes(jobs, 1, 1)
    for minute in range(2, 5):
        turn(jobs, at(12, minute))
        tasks_control.cancel(Job.objects.get(planned_at=at(12, minute)).id, actor=ACTOR)
    assert not Pause.objects.exists()
    run_minutes(jobs, 5, 6)
    assert Pause.objects.get().automatic
    assert len(fired()) == 5


def test_an_edit_does_not_undo_it_and_resuming_gives_the_full_number_again(jobs: HandPlatform) -> None:
    create(pause_after_failures=2)
    run_minutes(jobs, 1, 3)
    edit(cron="*/1 * * * *", description="mended?")
    run_minutes(jobs, 4, 5)
    assert len(fired()) == 2
    assert state().next_due_at is None
    pauses.resume("schedule", "s", actor=ACTOR)
    run_minutes(jobs, 6, 9)
    assert fired()[2:] == ["12:06:00", "12:07:00"]
    assert Pause.objects.filter(automatic=True).count() == 2


def test_each_tenant_is_counted_for_itself_and_the_pause_is_for_all(jobs: HandPlatform) -> None:
    create(pause_after_failures=2, tenants=["a", "b"])
    run_minutes(jobs, 1, 1)
    assert not Pause.objects.exists()
    run_minutes(jobs, 2, 5)
    assert Pause.objects.get().automatic
    assert state("s", "a").next_due_at is None and state("s", "b").next_due_at is None
