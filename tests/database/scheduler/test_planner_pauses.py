"""What pauses, edits and the ends of jobs mean for the planner."""

from __future__ import annotations

from datetime import datetime

import pytest
from django.db import connection

from jobsplatform.kernel import clock
from jobsplatform.testing.platform import ACTOR, HandPlatform
from scheduler import cursors, pauses, planner
from scheduler.events import ScheduleChanged
from scheduler.models import Pause, Schedule, ScheduleState
from scheduler.states import PauseScope
from tasks.handlers import FunctionHandler, job
from tasks.models import Job


def at(text: str) -> datetime:
    return datetime.fromisoformat(f"2026-01-01T{text}+00:00")


def told(jobs: HandPlatform, schedule_id: str = "test") -> list[tuple[str, str, int]]:
    return [(row.status, row.reason, row.slot_count) for row in jobs.ledger(schedule_id)]


@pytest.fixture
def report(jobs: HandPlatform) -> FunctionHandler:
    @job("pause.report")
    def report(n: int = 0) -> int:
        return n

    jobs.schedule(report, cron="*/10 * * * *")
    jobs.plan()
    return report


@pytest.mark.parametrize("scope", ["all", "schedule"])
def test_the_slots_of_a_pause_are_dropped(jobs: HandPlatform, report: FunctionHandler, scope: str) -> None:
    target = "test" if scope == "schedule" else ""
    pauses.pause(scope, target, actor=ACTOR)
    assert jobs.plan_at(at("12:35")) == [] and not jobs.ledger()
    pauses.resume(scope, target, actor=ACTOR)
    jobs.plan()
    assert told(jobs) == [("paused", "paused", 3)]
    jobs.plan_at(at("12:40"))
    assert told(jobs)[1:] == [("fired", "", 1)]


@pytest.mark.parametrize("scope", ["all", "schedule"])
def test_or_they_go_the_way_of_late_ones(jobs: HandPlatform, report: FunctionHandler, scope: str) -> None:
    target = "test" if scope == "schedule" else ""
    pauses.pause(scope, target, actor=ACTOR, resume_rule="misfire")
    jobs.plan_at(at("12:35"))
    pauses.resume(scope, target, actor=ACTOR)
    jobs.plan()
    assert told(jobs) == [("coalesced", "coalesced into 2026-01-01T12:30:00Z", 2), ("fired", "", 1)]


def test_a_pause_whose_time_is_over_holds_nothing_up(jobs: HandPlatform, report: FunctionHandler) -> None:
    pauses.pause("all", actor=ACTOR, expires_at=at("12:25"))
    jobs.advance(20 * 60)
    assert planner.step(clock.now()).next_due_at == at("12:25")
    jobs.plan_at(at("12:30"))  # nobody has lifted it
    assert told(jobs) == [("paused", "paused", 2), ("fired", "", 1)]


def test_a_paused_schedule_that_is_woken_lies_down_again(jobs: HandPlatform, report: FunctionHandler) -> None:
    pauses.pause("schedule", "test", actor=ACTOR)
    jobs.advance(600)
    assert cursors.wake(["test"], clock.now()) == 1
    assert jobs.plan() == []
    assert jobs.cursor().next_due_at is None and not jobs.ledger()


def test_settling_a_paused_schedule_tells_its_slots_as_paused(
    jobs: HandPlatform, report: FunctionHandler
) -> None:
    pauses.pause("schedule", "test", actor=ACTOR)
    jobs.advance(25 * 60)
    planner.step(clock.now(), only=("test", None), settle=True)
    assert told(jobs) == [("paused", "paused", 2)]


def test_a_pause_after_failures(jobs: HandPlatform) -> None:
    @job("pause.bad", max_attempts=1)
    def bad() -> None:
        raise ValueError("no")

    jobs.schedule(bad, cron="*/10 * * * *", pause_after_failures=2)
    jobs.plan()
    for minute in (10, 20, 30):
        jobs.plan_at(at(f"12:{minute}"))
        jobs.drain()
    assert Job.objects.count() == 2
    assert Pause.objects.get().automatic and jobs.cursor().next_due_at is None
    assert [row.status for row in jobs.ledger()] == ["fired", "fired"]


# -- edits -------------------------------------------------------------------------------------------


def test_slots_before_an_edit_never_fire_by_the_new_rule(jobs: HandPlatform, report: FunctionHandler) -> None:
    jobs.advance(5 * 60 + 30)
    Schedule.objects.update(
        trigger_config={"cron": "* * * * *"}, revision=2, edited_at=clock.now(), updated_at=clock.now()
    )
    cursors.applied(["test"])
    cursors.wake(["test"], clock.now())
    assert jobs.plan() == []
    jobs.plan_at(at("12:06"))
    assert [row.planned_at for row in jobs.ledger()] == [at("12:06")]


def test_an_edit_of_anything_else_moves_no_cursor(jobs: HandPlatform, report: FunctionHandler) -> None:
    jobs.advance(15 * 60)
    Schedule.objects.update(description="other", revision=2, updated_at=clock.now())
    jobs.plan()
    assert [(row.planned_at, row.status) for row in jobs.ledger()] == [(at("12:10"), "fired")]


def test_an_edit_by_sql_is_found_and_counts_from_then(jobs: HandPlatform, report: FunctionHandler) -> None:
    assert planner.edited_outside(clock.now()) == 0
    jobs.advance(90)
    with connection.cursor() as cursor:
        cursor.execute("UPDATE scheduler_schedule SET trigger_config = %s", ['{"cron": "* * * * *"}'])
    assert planner.edited_outside(clock.now()) == 1
    assert planner.edited_outside(clock.now()) == 0
    row = Schedule.objects.get()
    assert (row.revision, row.edited_at) == (2, clock.now())
    assert [(each.change, each.source) for each in jobs.told(ScheduleChanged)] == [("updated", "outside")]
    jobs.plan()
    jobs.plan_at(at("12:02"))
    assert [row.planned_at for row in jobs.ledger()] == [at("12:02")]


def test_an_edit_outside_is_seen_before_the_row_is_planned(
    jobs: HandPlatform, report: FunctionHandler
) -> None:
    jobs.advance(10 * 60)
    Schedule.objects.update(trigger_config={"cron": "* * * * *"})
    assert jobs.plan() == []  # ten of its minutes have passed already
    jobs.plan_at(at("12:11"))
    assert [row.planned_at for row in jobs.ledger()] == [at("12:11")]


@pytest.mark.parametrize(
    "change", [{"timezone": "Asia/Kolkata"}, {"archived_at": at("12:00")}, {"tenants": ["t"]}]
)
def test_what_counts_as_an_edit_outside(
    jobs: HandPlatform, report: FunctionHandler, change: dict[str, object]
) -> None:
    Schedule.objects.update(**change)
    assert planner.edited_outside(clock.now()) == 1


def test_params_and_words_do_not(jobs: HandPlatform, report: FunctionHandler) -> None:
    Schedule.objects.update(params={"n": 1}, description="x", job_type="pause.other", fault="f")
    assert planner.edited_outside(clock.now()) == 0


def test_a_row_written_by_sql_gets_its_cursor(jobs: HandPlatform, report: FunctionHandler) -> None:
    now = clock.now()
    Schedule.objects.bulk_create(
        [
            Schedule(
                id="new",
                job_type="pause.report",
                trigger_type="cron",
                trigger_config={"cron": "*/10 * * * *"},
                misfire="skip",
                created_at=now,
                edited_at=now,
                updated_at=now,
            )
        ]
    )
    assert planner.edited_outside(now) == 1
    assert Schedule.objects.get(pk="new").revision == 1
    jobs.plan()
    jobs.plan_at(at("12:10"))
    assert told(jobs, "new") == [("fired", "", 1)]


def test_saving_a_schedule_around_its_slot_loses_nothing(jobs: HandPlatform, report: FunctionHandler) -> None:
    for second in range(0, 1200, 20):
        jobs.advance(20)
        row = Schedule.objects.get()
        row.description = f"saved at {second}"
        row.revision += 1
        row.save()
        cursors.applied(["test"])
        cursors.wake(["test"], clock.now())
        jobs.plan()
    assert [row.planned_at for row in jobs.ledger()] == [at("12:10"), at("12:20")]


# -- from the last end -------------------------------------------------------------------------------


def test_a_period_after_each_end(jobs: HandPlatform, report: FunctionHandler) -> None:
    jobs.schedule(report, id="end", every=300, config={"from": "last_end"})
    pauses.pause("schedule", "test", actor=ACTOR)
    jobs.plan()
    jobs.plan_at(at("12:05"))
    assert [row.planned_at for row in jobs.ledger("end")] == [at("12:05")]
    jobs.plan_at(at("12:07"))
    jobs.drain()  # it ends at 12:07
    jobs.plan_at(at("12:10"))
    assert len(jobs.ledger("end")) == 1
    jobs.plan_at(at("12:12"))
    assert [row.planned_at for row in jobs.ledger("end")] == [at("12:05"), at("12:12")]


def test_nothing_is_due_while_its_job_is_unfinished(jobs: HandPlatform, report: FunctionHandler) -> None:
    jobs.schedule(report, id="end", every=300, config={"from": "last_end"})
    jobs.plan()
    jobs.plan_at(at("12:05"))
    jobs.plan_at(at("15:00"))
    assert len(jobs.ledger("end")) == 1
    due = jobs.cursor("end").next_due_at
    assert due is not None and (due - at("15:00")).total_seconds() == 60


@pytest.mark.parametrize("misfire", ["run_once", "catch_up_limited"])
def test_an_outage_leaves_no_backlog(jobs: HandPlatform, report: FunctionHandler, misfire: str) -> None:
    jobs.schedule(report, id="end", every=300, misfire=misfire, config={"from": "last_end"})
    jobs.plan()
    jobs.plan_at(at("13:02"))
    assert told(jobs, "end") == [("coalesced", "coalesced into 2026-01-01T13:00:00Z", 11), ("fired", "", 1)]


def test_the_states_of_everything_paused_cost_one_read(jobs: HandPlatform, report: FunctionHandler) -> None:
    Pause.objects.create(scope=PauseScope.ALL, author="x", created_at=clock.now())
    jobs.advance(600)
    done = planner.step(clock.now())
    assert (done.checked, done.more, done.next_due_at) == (0, False, None)
    assert ScheduleState.objects.get().last_planned_at == at("12:00")
