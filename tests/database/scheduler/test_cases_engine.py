"""What schedulers elsewhere got wrong, turned through our planner second by second."""

from __future__ import annotations

import json
from collections.abc import Callable
from datetime import UTC, datetime, timedelta

import pytest
from django.db import connection

from jobsplatform.kernel import clock
from jobsplatform.testing.platform import HandPlatform
from scheduler import pauses, planner, queries
from scheduler.models import Schedule, ScheduleState, ScheduleTriggerLog
from tasks.handlers import FunctionHandler, job
from tasks.models import Job
from tests.database.scheduler.tools import ACTOR, create, decided, edit, fired, state, tick, turn

pytestmark = pytest.mark.usefixtures("work")


@pytest.fixture
def work(jobs: HandPlatform) -> FunctionHandler:
    @job("tests.work")
    def work() -> None:
        return None

    return work


def instant(text: str) -> datetime:
    return datetime.fromisoformat(text).astimezone(UTC)


def begin(jobs: HandPlatform, text: str) -> None:
    """The clock stands there before anything is made."""
    jobs.clock.advance((instant(text) - clock.now()).total_seconds())


def slots(schedule_id: str = "s") -> list[datetime]:
    rows = ScheduleTriggerLog.objects.filter(schedule_id=schedule_id, status="fired").order_by("planned_at")
    return [row.planned_at for row in rows if row.planned_at is not None]


def test_the_preview_is_what_runs_round_a_clock_change(jobs: HandPlatform) -> None:
    begin(jobs, "2018-10-27T03:00+02:00")
    row = create(cron="0 2 * * *", timezone="Europe/Copenhagen")
    shown = [slot.planned_at for slot in queries.next_slots(row, 3, after=clock.now())]
    assert shown[:2] == [instant("2018-10-28T02:00+02:00"), instant("2018-10-29T02:00+01:00")]
    turn(jobs, instant("2018-10-30T12:00+01:00"))
    assert slots() == shown


def test_another_zone_counts_at_once_and_the_old_time_is_gone(jobs: HandPlatform) -> None:
    begin(jobs, "2026-09-09T10:00Z")
    create(cron="0 11 * * *")
    turn(jobs, instant("2026-09-09T12:00Z"))
    edit(timezone="Asia/Ho_Chi_Minh")
    tick()
    assert state().next_due_at == instant("2026-09-10T04:00Z")
    turn(jobs, instant("2026-09-10T12:00Z"))
    assert slots() == [instant("2026-09-09T11:00Z"), instant("2026-09-10T04:00Z")]


def test_a_zone_behind_that_of_the_project_is_due_once(jobs: HandPlatform, settings) -> None:  # type: ignore[no-untyped-def]
    settings.TIME_ZONE = "Europe/Vilnius"
    begin(jobs, "2025-07-01T08:55Z")
    create(cron="0 10 * * *", timezone="Europe/London")
    for _ in range(450):
        jobs.clock.advance(2)
        tick()
    assert clock.now() == instant("2025-07-01T09:10Z") and slots() == [instant("2025-07-01T09:00Z")]


def test_a_last_run_inside_the_repeated_hour(jobs: HandPlatform) -> None:
    begin(jobs, "2019-11-03T05:10Z")
    create(cron="*/30 * * * *", timezone="America/New_York", misfire="skip")
    turn(jobs, instant("2019-11-03T05:31Z"))
    jobs.clock.advance(39 * 60)  # nobody looks until 06:10
    tick()
    assert slots() == [instant("2019-11-03T05:30Z")]
    assert state().next_due_at == instant("2019-11-03T06:30Z")


def test_every_day_at_nine_is_nine_by_the_wall_clock(jobs: HandPlatform) -> None:
    begin(jobs, "2026-03-28T00:00Z")
    create(cron="0 9 * * *", timezone="Europe/Berlin")
    turn(jobs, instant("2026-03-30T12:00Z"))
    wanted = ["2026-03-28T08:00Z", "2026-03-29T07:00Z", "2026-03-30T07:00Z"]
    assert slots() == [instant(each) for each in wanted]


def test_a_date_that_has_run_is_in_nobodys_way(jobs: HandPlatform) -> None:
    begin(jobs, "2026-01-01T11:59:30Z")
    create("once", at="2026-01-01T12:00:00Z", misfire="run_once")
    create("minute")
    turn(jobs, instant("2026-01-01T12:05Z"))
    assert fired("minute") == [f"12:0{n}:00" for n in range(6)] and fired("once") == ["12:00:00"]


def test_skip_skips_what_was_missed_by_seconds(jobs: HandPlatform) -> None:
    begin(jobs, "2026-01-01T16:43:45Z")
    create(every=15, misfire="skip", anchor="2026-01-01T00:00Z", grace=1)
    tick()
    jobs.clock.advance(57)  # down until 16:44:42
    tick()
    turn(jobs, instant("2026-01-01T16:44:46Z"))
    assert slots() == [instant("2026-01-01T16:44:45Z")]
    assert decided()[0] == ("16:44:00", "skipped", 3)


def test_what_is_caught_up_runs_one_after_the_other(jobs: HandPlatform) -> None:
    begin(jobs, "2026-01-01T06:30Z")
    create(cron="0 * * * *", misfire="catch_up_limited", misfire_limit=3, overlap="buffer_all")
    tick()
    jobs.clock.advance(5 * 3600)
    done = planner.step(clock.now())
    assert done.triggered == 3
    order = []
    while jobs.worker.dispatch() or jobs.worker.sent:
        (message,) = jobs.worker.sent  # never two at once
        order.append(Job.objects.get(pk=message.job_id).planned_at)
        jobs.worker.run()
    assert order == [instant(f"2026-01-01T{hour:02}:00Z") for hour in (7, 8, 9)]


def test_making_a_schedule_runs_no_other_and_nothing_of_before(jobs: HandPlatform) -> None:
    begin(jobs, "2026-01-01T11:30Z")
    for name, cron in {"a": "1 11 * * *", "b": "2 11 * * *", "c": "0 12 * * *"}.items():
        create(name, cron=cron, grace=3600)
        tick()
    assert not ScheduleTriggerLog.objects.exists()
    turn(jobs, instant("2026-01-02T11:30Z"))
    assert slots("c") == [instant("2026-01-01T12:00Z")]
    assert slots("a") == [instant("2026-01-02T11:01Z")] and slots("b") == [instant("2026-01-02T11:02Z")]


def _by_update() -> None:
    Schedule.objects.filter(pk="s").update(trigger_config={"cron": "*/5 * * * *"})


def _by_bulk_update() -> None:
    row = Schedule.objects.get(pk="s")
    row.trigger_config = {"cron": "*/5 * * * *"}
    Schedule.objects.bulk_update([row], ["trigger_config"])


def _by_sql() -> None:
    with connection.cursor() as cursor:
        cursor.execute(
            "UPDATE scheduler_schedule SET trigger_config = %s WHERE id = 's'",
            [json.dumps({"cron": "*/5 * * * *"})],
        )


@pytest.mark.parametrize("change", [_by_update, _by_bulk_update, _by_sql])
def test_a_change_that_sends_no_signal_is_taken_up(jobs: HandPlatform, change: Callable[[], None]) -> None:
    create(cron="0 0 * * *")
    turn(jobs, instant("2026-01-01T12:02Z"))
    change()
    assert planner.edited_outside(clock.now()) == 1 and planner.edited_outside(clock.now()) == 0
    turn(jobs, instant("2026-01-01T12:11Z"))
    assert fired() == ["12:05:00", "12:10:00"]


@pytest.mark.parametrize("many", [False, True], ids=["one", "bulk"])
def test_enabling_runs_nothing_at_once(jobs: HandPlatform, many: bool) -> None:
    begin(jobs, "2026-01-05T15:00Z")
    create(cron="0 17 * * *")
    turn(jobs, instant("2026-01-05T16:00Z"))
    if many:
        pauses.pause_many(["s"], actor=ACTOR)
    else:
        pauses.pause("schedule", "s", actor=ACTOR)
    turn(jobs, instant("2026-01-08T09:00Z"))
    if many:
        pauses.resume_many(["s"], actor=ACTOR)
    else:
        pauses.resume("schedule", "s", actor=ACTOR)
    turn(jobs, instant("2026-01-08T16:59Z"))
    assert not Job.objects.exists()
    turn(jobs, instant("2026-01-08T17:01Z"))
    assert slots() == [instant("2026-01-08T17:00Z")]


def test_a_start_far_off_blocks_nobody(jobs: HandPlatform) -> None:
    create("a", start="2030-01-01T00:00Z")
    create("b")
    turn(jobs, instant("2026-01-01T12:03Z"))
    assert fired("b") == ["12:01:00", "12:02:00", "12:03:00"] and not fired("a")
    assert ScheduleState.objects.get(schedule_id="a").next_due_at == datetime(2030, 1, 1, tzinfo=UTC)


def test_a_job_longer_than_its_interval_leaves_slots_out_and_leaves_no_pile(jobs: HandPlatform) -> None:
    @job("tests.long", exclusive=True)
    def long() -> None:
        jobs.clock.advance(150)

    begin(jobs, "2026-01-01T11:59:59Z")
    create("s", job="tests.long", every=60, anchor="2026-01-01T12:00:00Z", grace=1)
    jobs.clock.advance(1)
    tick()
    held = Job.objects.get()
    for _ in range(2):
        jobs.clock.advance(60)
        tick()
    assert [(row.status, row.reason) for row in jobs.ledger("s")] == [
        ("fired", ""),
        ("skipped", "already_running"),
        ("skipped", "already_running"),
    ]
    Job.objects.filter(pk=held.pk).delete()
    jobs.clock.advance(60)
    tick()
    assert fired() == ["12:03:00"] and clock.now() - instant("2026-01-01T12:03Z") < timedelta(seconds=1)
