"""What schedulers read of the jobs that their slots made."""

from __future__ import annotations

from datetime import timedelta
from typing import Any

from jobsplatform.testing.factory import make_job
from jobsplatform.testing.platform import HandPlatform
from tasks import queries
from tasks.models import Job
from tasks.states import State


def made(jobs: HandPlatform, state: State | str, schedule_id: str = "s", **columns: Any) -> Job:
    jobs.clock.advance(1)
    return make_job(state, schedule_id=schedule_id, **columns)


def ended_after(row: Job, seconds: float) -> None:
    assert row.finished_at is not None
    Job.objects.filter(id=row.id).update(finished_at=row.finished_at + timedelta(seconds=seconds))


def test_of_a_schedule_without_jobs_there_is_nothing(jobs: HandPlatform) -> None:
    made(jobs, "completed", schedule_id="")
    for name in ("s", ""):
        assert queries.last_of_schedule(name, "") is None
        assert queries.unfinished_of_schedule(name, "") is None
        assert queries.recent_ends(name, "", 5) == []


def test_the_last_is_the_newest_that_is_open_else_the_one_that_ended_last(jobs: HandPlatform) -> None:
    first, second = made(jobs, "completed"), made(jobs, "failed")
    ended_after(first, 60)
    assert queries.last_of_schedule("s", "") == first
    old = made(jobs, "waiting")
    new = made(jobs, "pending")
    made(jobs, "completed")
    assert queries.last_of_schedule("s", "") == new
    assert queries.unfinished_of_schedule("s", "") == old
    assert second.id < old.id


def test_ends_come_latest_first_and_without_those_that_never_ran(jobs: HandPlatform) -> None:
    first, second = made(jobs, "completed"), made(jobs, "failed")
    ended_after(first, 60)
    made(jobs, "cancelled", reason="overlap")
    made(jobs, "cancelled", reason="latest_start")
    user = made(jobs, "cancelled")
    made(jobs, "running")
    ends = queries.recent_ends("s", "", 5)
    assert [end.id for end in ends] == [first.id, user.id, second.id]
    assert ends[2][1:4] == ("failed", "handler", "") and ends[2].finished_at == second.finished_at
    assert [end.id for end in queries.recent_ends("s", "", 1)] == [first.id]


def test_tenants_and_schedules_are_apart(jobs: HandPlatform) -> None:
    rows = {
        (schedule, tenant): made(jobs, "completed", schedule_id=schedule, tenant_id=tenant)
        for schedule in ("s", "other")
        for tenant in ("", "t")
    }
    for (schedule, tenant), row in rows.items():
        assert queries.last_of_schedule(schedule, tenant) == row
        assert [end.id for end in queries.recent_ends(schedule, tenant, 9)] == [row.id]
