"""Retention of decisions, backfills and pauses: what may go goes, in batches; what is needed stays."""

from __future__ import annotations

from datetime import datetime, timedelta
from typing import Any

import pytest
from django.db import connection
from django.test.utils import CaptureQueriesContext

from jobsplatform.kernel import clock, config
from jobsplatform.testing.factory import make_job
from jobsplatform.testing.platform import HandPlatform
from scheduler import backfill, pauses, retention
from scheduler.models import Backfill, Pause, Schedule, ScheduleState, ScheduleTriggerLog
from scheduler.prune import KEPT_BACK, prune
from scheduler.states import PauseScope, Status
from tasks.handlers import job
from tests.database.scheduler.tools import ACTOR, at, create, tick, turn

DAYS = timedelta(days=1)


@pytest.fixture(autouse=True)
def work(jobs: HandPlatform) -> None:
    @job("tests.work")
    def work(n: int = 0) -> None: ...


def decision(
    planned_at: datetime | None, *, until: datetime | None = None, **columns: Any
) -> ScheduleTriggerLog:
    """A row as the planner writes it a second after its slot."""
    schedule = Schedule.objects.filter(id=columns.get("schedule_id", "s")).first()
    decided_at = (until or planned_at or at(12)) + timedelta(seconds=1)
    values: dict[str, Any] = {
        "schedule_id": "s",
        "planned_at": planned_at,
        "planned_until": until,
        "slot_count": 1 if until is None else 2,
        "origin": "auto",
        "triggered_at": decided_at,
        "status": Status.SKIPPED,
        "reason": "misfire",
        "purge_at": retention.purge_at(
            schedule.log_days if schedule else None, decided_at, until or planned_at
        ),
        **columns,
    }
    return ScheduleTriggerLog.objects.create(**values)


def kept() -> list[str]:
    return [str(row.planned_at or row.origin) for row in ScheduleTriggerLog.objects.order_by("planned_at")]


def reach(instant: datetime) -> None:
    ScheduleState.objects.update(last_planned_at=instant)


def test_decisions_go_when_their_days_are_over(jobs: HandPlatform) -> None:
    create()
    for day in (1, 2, 3):
        decision(at(12, day=day))
    reach(at(13, day=3))
    days = config.get().scheduler.log_retention_days
    assert prune(at(12, day=1) + days * DAYS) == 0
    assert prune(at(12, 0, 1, day=1) + days * DAYS) == 1
    assert kept() == [str(at(12, day=2)), str(at(12, day=3))]
    assert prune(at(13, day=3) + days * DAYS) == 2


def test_a_run_without_a_slot_goes_too(jobs: HandPlatform) -> None:
    create(manual=True)
    made = make_job(job_type="tests.work")
    decision(None, origin="manual:k", status=Status.FIRED, reason="", task_id=made.id)
    assert prune(at(13) + 30 * DAYS) == 1


def test_a_schedules_own_days_count(jobs: HandPlatform) -> None:
    create("short", log_days=2)
    create("long", log_days=90)
    for name in ("short", "long"):
        decision(at(12), schedule_id=name)
    reach(at(13))
    prune(at(13) + 2 * DAYS)
    assert [row.schedule_id for row in ScheduleTriggerLog.objects.all()] == ["long"]
    assert prune(at(13) + 89 * DAYS) == 0
    assert prune(at(13) + 90 * DAYS) == 1


def test_days_that_were_made_more_later_count_for_old_rows_too(jobs: HandPlatform) -> None:
    create()
    decision(at(12))
    reach(at(13))
    Schedule.objects.update(log_days=60)
    assert prune(at(13) + 31 * DAYS) == 0
    assert ScheduleTriggerLog.objects.get().purge_at == at(12, 0, 1) + 60 * DAYS
    assert prune(at(13) + 60 * DAYS) == 1


def test_never_inside_the_catch_up_window(jobs: HandPlatform) -> None:
    create(log_days=1, catch_up_window=10 * 86_400)
    decision(at(12))
    reach(at(13))
    assert prune(at(13) + 9 * DAYS) == 0
    assert prune(at(13) + 10 * DAYS) == 1


def test_the_platforms_catch_up_window_counts_where_the_schedule_has_none(jobs: HandPlatform) -> None:
    create(log_days=1)
    decision(at(12))
    reach(at(13))
    with config.override(scheduler={"catch_up_window_seconds": 5 * 86_400.0}):
        assert prune(at(13) + 4 * DAYS) == 0
        assert prune(at(13) + 5 * DAYS) == 1


def test_never_what_the_cursor_has_not_passed(jobs: HandPlatform) -> None:
    """A slot that was triggered by hand ahead of its time: the planner must find it when it comes there."""
    create()
    row = decision(at(12, day=9), purge_at=at(13))
    reach(at(12, day=8))
    late = at(12, day=9) + 300 * DAYS
    assert prune(late) == 0
    row.refresh_from_db()
    assert row.purge_at == late + KEPT_BACK
    reach(at(12, day=9))
    assert prune(late) == 0  # it is looked at again later, so that the first rows hold nobody up
    assert prune(late + KEPT_BACK) == 1


def test_never_what_a_running_backfill_looks_at(jobs: HandPlatform) -> None:
    create(cron="0 * * * *", misfire="skip")
    jobs.clock.set(at(16))
    tick()
    row = backfill.start("s", at(12), at(15), actor=ACTOR)
    late = at(16) + 40 * DAYS
    before = ScheduleTriggerLog.objects.count()
    assert prune(late) == 1  # the slot of 16:00 lies outside its range
    assert ScheduleTriggerLog.objects.count() == before - 1
    backfill.cancel(row.id, actor=ACTOR, now=late)
    assert prune(late + KEPT_BACK) == before - 1


def test_rows_of_a_schedule_that_is_gone(jobs: HandPlatform) -> None:
    decision(at(12), schedule_id="gone")
    assert prune(at(12) + 30 * DAYS) == 0
    assert prune(at(13) + 30 * DAYS) == 1


def test_a_range_goes_as_a_whole_when_its_last_slot_may(jobs: HandPlatform) -> None:
    create()
    decision(at(12, day=1), until=at(12, day=20))
    reach(at(12, day=20))
    assert prune(at(12, day=19) + 30 * DAYS) == 0
    assert prune(at(13, day=20) + 30 * DAYS) == 1


def test_batches_are_bounded_and_the_oldest_go_first(jobs: HandPlatform) -> None:
    create()
    for minute in range(25):
        decision(at(12, minute))
    reach(at(13))
    late = at(13) + 30 * DAYS
    rounds = []
    while gone := prune(late, batch=10):
        rounds.append(gone)
        assert kept() == [str(at(12, minute)) for minute in range(sum(rounds), 25)]
    assert rounds == [10, 10, 5]


def test_a_round_costs_as_many_queries_for_many_rows_as_for_few(jobs: HandPlatform) -> None:
    create()
    counts = []
    for rows in (2, 40):
        for minute in range(rows):
            decision(at(12, minute))
        reach(at(13))
        with CaptureQueriesContext(connection) as queries:
            assert prune(at(13) + 30 * DAYS) == rows
        counts.append(len(queries))
    assert counts[0] == counts[1]


def test_the_planner_goes_on_after_its_past_is_gone(jobs: HandPlatform) -> None:
    create(cron="0 * * * *", misfire="run_once")
    turn(jobs, at(15))
    while prune(clock.now() + 31 * DAYS):
        pass
    assert kept() == []
    turn(jobs, at(17))
    assert [row.planned_at for row in ScheduleTriggerLog.objects.order_by("planned_at")] == [at(16), at(17)]


def test_ended_backfills_and_lifted_pauses_go_and_others_stay(jobs: HandPlatform) -> None:
    create("s", cron="0 * * * *")
    create("t", cron="0 * * * *")
    jobs.clock.set(at(16))
    tick()
    ended, running = (backfill.start(name, at(10), at(11), "all", actor=ACTOR) for name in ("s", "t"))
    backfill.cancel(ended.id, actor=ACTOR)
    for name in ("s", "t"):
        pauses.pause(PauseScope.SCHEDULE, name, actor=ACTOR)
    pauses.resume(PauseScope.SCHEDULE, "s", actor=ACTOR)
    ScheduleTriggerLog.objects.all().delete()
    assert prune(at(16) + 30 * DAYS) == 0
    assert prune(at(17) + 30 * DAYS) == 2
    assert list(Backfill.objects.values_list("id", flat=True)) == [running.id]
    assert list(Pause.objects.values_list("target", flat=True)) == ["t"]
