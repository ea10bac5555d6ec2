"""One bad row: shown, parked alone, healed when mended; it never stops the others."""

from __future__ import annotations

import json
from collections.abc import Callable
from datetime import datetime, timedelta

import pytest
from django.db import connection

from jobsplatform.kernel import clock
from jobsplatform.testing.platform import HandPlatform
from scheduler import planner, steps
from scheduler.events import ScheduleFaulty, ScheduleMended
from scheduler.models import Schedule, ScheduleState, ScheduleTriggerLog
from tasks import registry, submit
from tasks.handlers import FunctionHandler, job
from tasks.models import Job


def at(text: str) -> datetime:
    return datetime.fromisoformat(f"2026-01-01T{text}+00:00")


@pytest.fixture
def report(jobs: HandPlatform) -> FunctionHandler:
    @job("fault.report")
    def report(n: int = 0) -> int:
        return n

    for name in ("a", "bad", "c"):
        jobs.schedule(report, id=name, cron="*/10 * * * *")
    jobs.plan()
    return report


def by_sql(column: str, value: str, schedule_id: str = "bad") -> None:
    with connection.cursor() as cursor:
        cursor.execute(f"UPDATE scheduler_schedule SET {column} = %s WHERE id = %s", [value, schedule_id])
        # As if it had been so before: an edit outside would be taken up first.
    from scheduler import cursors

    cursors.applied([schedule_id])


def unknown_zone() -> Callable[[], None]:
    by_sql("timezone", "Mars/Olympus")
    return lambda: by_sql("timezone", "UTC")


def corrupt_config() -> Callable[[], None]:
    by_sql("trigger_config", json.dumps(["no", "config"]))
    return lambda: by_sql("trigger_config", json.dumps({"cron": "*/10 * * * *"}))


def wrong_cron() -> Callable[[], None]:
    by_sql("trigger_config", json.dumps({"cron": "61 * * * *"}))
    return lambda: by_sql("trigger_config", json.dumps({"cron": "*/10 * * * *"}))


def unknown_type() -> Callable[[], None]:
    by_sql("job_type", "fault.reprot")
    return lambda: by_sql("job_type", "fault.report")


@pytest.mark.parametrize("spoil", [unknown_zone, corrupt_config, wrong_cron, unknown_type])
def test_a_schedule_that_cannot_be_planned_is_parked_and_healed(
    jobs: HandPlatform, report: FunctionHandler, spoil: Callable[[], Callable[[], None]]
) -> None:
    mend = spoil()
    results = jobs.plan_at(at("12:10"))
    assert [(each.schedule_id, each.status, each.ok) for each in results] == [
        ("a", "fired", True),
        ("c", "fired", True),
        ("bad", "parked", False),
    ]
    bad = Schedule.objects.get(pk="bad")
    assert bad.fault == results[2].error != "" and bad.fault_at == at("12:10")
    assert jobs.cursor("bad").next_due_at == at("12:11") and not jobs.ledger("bad")
    assert [each.fault for each in jobs.told(ScheduleFaulty)] == [bad.fault]
    jobs.plan_at(at("12:11"))
    assert jobs.cursor("bad").next_due_at == at("12:12")
    assert len(jobs.told(ScheduleFaulty)) == 1  # told once, whatever the number of looks
    assert Schedule.objects.get(pk="bad").fault_at == at("12:10")
    mend()
    jobs.plan_at(at("12:12"))
    assert Schedule.objects.get(pk="bad").fault == "" and Schedule.objects.get(pk="bad").fault_at is None
    assert [each.schedule_id for each in jobs.told(ScheduleMended)] == ["bad"]
    assert [(row.status, row.planned_at) for row in jobs.ledger("bad")] == [("fired", at("12:10"))]


def test_the_fault_says_what_to_do(jobs: HandPlatform, report: FunctionHandler) -> None:
    unknown_type()
    jobs.plan_at(at("12:10"))
    assert "Did you mean 'fault.report'?" in Schedule.objects.get(pk="bad").fault


def test_a_type_that_comes_with_a_later_release_runs_then(
    jobs: HandPlatform, report: FunctionHandler
) -> None:
    registry.unregister(":fault.report")
    jobs.plan_at(at("12:10"))
    assert not Job.objects.exists()
    registry.register(report)
    jobs.plan_at(at("12:11"))
    assert {row.planned_at for row in ScheduleTriggerLog.objects.filter(status="fired")} == {at("12:10")}
    assert Job.objects.count() == 3


def test_params_that_no_longer_fit_fail_their_slot_and_no_other(
    jobs: HandPlatform, report: FunctionHandler
) -> None:
    Schedule.objects.filter(pk="bad").update(params={"m": 1})
    jobs.plan_at(at("12:10"))
    (row,) = jobs.ledger("bad")
    assert (row.status, row.reason, row.task_id) == ("failed", "PARAMS_INVALID", None)
    assert "m" in row.error
    assert Job.objects.count() == 2
    assert jobs.cursor("bad").next_due_at == at("12:20") and jobs.cursor("bad").fired == 0
    assert Schedule.objects.get(pk="bad").fault == ""


def test_a_row_whose_job_is_refused_spoils_nobody_elses_batch(
    jobs: HandPlatform, report: FunctionHandler
) -> None:
    Schedule.objects.filter(pk="bad").update(priority=10**9, queue="q\x01")
    done = planner.step(clock.now() + timedelta(minutes=10))
    assert (done.checked, done.triggered, done.failed) == (3, 2, 1)
    (row,) = jobs.ledger("bad")
    assert (row.status, row.reason) == ("failed", "INVALID_INPUT") and row.error
    assert sorted(Job.objects.values_list("schedule_id", flat=True)) == ["a", "c"]


def test_a_job_that_refuses_duplicates_skips(jobs: HandPlatform) -> None:
    @job("fault.once", dedupe_key="same", dedupe="reject")
    def once() -> None:
        return None

    for name in "xyz":
        jobs.schedule(once, id=name, cron="*/10 * * * *")
    jobs.plan()
    jobs.plan_at(at("12:10"))
    assert sorted(row.status for name in "xyz" for row in jobs.ledger(name)) == [
        "fired",
        "skipped",
        "skipped",
    ]
    assert {row.reason for name in "xyz" for row in jobs.ledger(name)} == {"", "duplicate"}


def test_an_error_nobody_foresaw_parks_the_row_that_raises_it(
    jobs: HandPlatform,
    report: FunctionHandler,
    monkeypatch: pytest.MonkeyPatch,
    caplog: pytest.LogCaptureFixture,
) -> None:
    whole = submit.submit_many

    def failing(requests, now=None, **options):  # type: ignore[no-untyped-def]
        requests = list(requests)
        if any(request.schedule_id == "bad" for request in requests):
            raise ZeroDivisionError("a bug of ours")
        return whole(requests, now, **options)

    monkeypatch.setattr(submit, "submit_many", failing)
    done = planner.step(clock.now() + timedelta(minutes=10))
    assert (done.triggered, done.failed) == (2, 1)
    assert Schedule.objects.get(pk="bad").fault == "ZeroDivisionError: a bug of ours"
    assert jobs.cursor("bad").next_due_at == at("12:11")
    assert "cannot be planned" in caplog.text
    monkeypatch.undo()
    jobs.plan_at(at("12:11"))
    assert [row.planned_at for row in jobs.ledger("bad")] == [at("12:10")]
    assert Schedule.objects.get(pk="bad").fault == ""


def test_many_bad_rows_among_many(jobs: HandPlatform, report: FunctionHandler) -> None:
    for n in range(60):
        jobs.schedule(report, id=f"n{n:02}", cron="*/10 * * * *")
    jobs.plan()
    Schedule.objects.filter(pk__in=[f"n{n:02}" for n in range(0, 60, 7)]).update(priority=10**9)
    jobs.plan_at(at("12:10"))
    rows = ScheduleTriggerLog.objects.filter(schedule_id__startswith="n")
    assert rows.filter(status="failed").count() == 9 and rows.filter(status="fired").count() == 51
    assert rows.count() == 60


@pytest.mark.parametrize("point", steps.STEPS)
def test_a_crash_at_each_step_leaves_all_or_nothing(
    jobs: HandPlatform, report: FunctionHandler, monkeypatch: pytest.MonkeyPatch, point: str
) -> None:
    class Crash(BaseException):
        pass

    def crash(name: str) -> None:
        if name == point:
            raise Crash

    jobs.advance(600)
    before = list(ScheduleState.objects.order_by("id").values())
    monkeypatch.setattr(steps, "reached", crash)
    with pytest.raises(Crash):
        planner.step(clock.now())
    whole = point == "committed"
    assert Job.objects.count() == ScheduleTriggerLog.objects.count() == (3 if whole else 0)
    assert (list(ScheduleState.objects.order_by("id").values()) == before) is not whole
    monkeypatch.undo()
    jobs.plan()
    assert Job.objects.count() == ScheduleTriggerLog.objects.count() == 3


def test_settling_decides_the_slots_of_an_unknown_type(jobs: HandPlatform, report: FunctionHandler) -> None:
    unknown_type()
    jobs.plan_at(at("12:25"))
    planner.step(clock.now(), only=("bad", None), settle=True)
    assert [(row.status, row.slot_count) for row in jobs.ledger("bad")] == [("coalesced", 1), ("failed", 1)]
    assert jobs.cursor("bad").last_planned_at == at("12:20")


def test_skips_written_by_hand_harm_nobody(jobs: HandPlatform, report: FunctionHandler) -> None:
    ScheduleState.objects.filter(schedule_id="bad").update(skips=["tomorrow", 7, None, "2026-01-01T12:10:00"])
    jobs.plan_at(at("12:10"))
    assert [row.status for row in jobs.ledger("bad")] == ["fired"]


@pytest.mark.parametrize(
    ("column", "value", "status"),
    [
        ("params", '["a", "list"]', "failed"),
        ("params", "null", "failed"),
        ("params", '{"n": "text"}', "failed"),
        ("latest_start_seconds", "1e300", "fired"),
        ("misfire_grace_seconds", "1e300", None),
        ("catch_up_max", "-5", "fired"),
        ("max_attempts", "-1", "failed"),
        ("app_id", "nobody", None),
        ("tenants", '{"no": "list"}', "fired"),
    ],
)
def test_values_that_only_sql_can_write_stop_no_other(
    jobs: HandPlatform, report: FunctionHandler, column: str, value: str, status: str | None
) -> None:
    by_sql(column, value)
    jobs.plan_at(at("12:10"))
    jobs.plan_at(at("12:20"))
    assert [row.status for row in jobs.ledger("bad")] == ([status] * 2 if status else [])
    assert bool(Schedule.objects.get(pk="bad").fault) is (status is None)
    assert Job.objects.exclude(schedule_id="bad").count() == 4


def test_a_timetable_that_says_now_for_ever_does_not_spin(
    jobs: HandPlatform, report: FunctionHandler, monkeypatch: pytest.MonkeyPatch
) -> None:
    from dataclasses import replace

    from scheduler import planning

    ordinary = planning.plan

    def stuck(timetable, policies, cursor, now):  # type: ignore[no-untyped-def]
        return replace(ordinary(timetable, policies, cursor, cursor.last_planned_at), next_due=now)

    monkeypatch.setattr(planning, "plan", stuck)
    jobs.plan_at(at("12:10"))
    assert jobs.cursor("bad").next_due_at == at("12:10:01")
