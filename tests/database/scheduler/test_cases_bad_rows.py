"""Rows written past us, by SQL or a migration: shown and parked; never a planner that stops, spins or slows."""

from __future__ import annotations

import json
from collections.abc import Iterator
from datetime import datetime

import pytest
from django.db import connection

from jobsplatform.kernel import clock
from jobsplatform.kernel.models import Tenant
from jobsplatform.testing.platform import HandPlatform
from scheduler import cursors, overdue, planner, queries
from scheduler.models import Schedule, ScheduleState
from scheduler.why import why
from tasks.handlers import FunctionHandler, job
from tasks.models import Job
from tests.database.scheduler.tools import at

MORE_DIGITS_THAN_PYTHON_READS = "1" + "0" * 5000
DEEPER_THAN_PYTHON_READS = "[" * 990 + "]" * 990


@pytest.fixture
def work(jobs: HandPlatform) -> Iterator[FunctionHandler]:
    @job("bad.work")
    def work(n: int = 0) -> int:
        return n

    for name in ("a", "bad", "c"):
        jobs.schedule(work, id=name, cron="* * * * *")
    jobs.plan()
    yield work


def by_sql(column: str, value: str, *, table: str = "scheduler_schedule", key: str = "id") -> None:
    with connection.cursor() as cursor:
        cursor.execute(f"UPDATE {table} SET {column} = %s WHERE {key} = 'bad'", [value])


def of_its_state(column: str, value: str) -> None:
    by_sql(column, value, table="scheduler_schedulestate", key="schedule_id")


def three_minutes(jobs: HandPlatform) -> None:
    """As a scheduler does: slots, and now and then what was edited outside."""
    for minute in (1, 2, 3):
        jobs.plan_at(at(12, minute))
        planner.edited_outside(clock.now())


def assert_the_others_ran() -> None:
    assert Job.objects.exclude(schedule_id="bad").count() == 6


def assert_it_can_be_looked_at(fault: str) -> None:
    now = clock.now()
    rows = {
        row.schedule.id: row.schedule.fault for row in queries.page(queries.ScheduleFilter(), now=now).rows
    }
    assert fault in rows["bad"] and (rows["a"], rows["c"]) == ("", "")
    assert queries.show("bad", now=now).schedule.fault == rows["bad"]
    assert why("bad", at(12, 2), "", now).sentence
    assert [each.schedule_id for each in overdue.report(now).faulty] == ["bad"]


def _config(**more: object) -> str:
    return json.dumps({"cron": "* * * * *", **more})


@pytest.mark.parametrize(
    ("config", "fault"),
    [
        ("null", "trigger_config"),
        ("[]", "trigger_config"),
        ("7", "trigger_config"),
        ('"* * * * *"', "trigger_config"),
        ("{}", "cron"),
        ('{"cron": null}', "cron"),
        ('{"cron": 5}', "cron"),
        ('{"cron": "0 0 31 2 *"}', "no year has such a date"),
        (json.dumps({"cron": "*" * 100_000}), "at most 256"),
        (f'{{"cron": {MORE_DIGITS_THAN_PYTHON_READS}}}', "trigger_config"),
        (f'{{"cron": {DEEPER_THAN_PYTHON_READS}}}', "trigger_config"),
        (_config(corn="* * * * *"), "corn"),
        (_config(jitter_seconds=1e308), "jitter_seconds"),
        (_config(jitter_seconds=-5), "jitter_seconds"),
        (_config(max_runs=0), "max_runs"),
        (_config(max_runs=-1), "max_runs"),
        (_config(max_runs="5"), "max_runs"),
        (_config(misfire_limit=10**30), "misfire_limit"),
        (_config(exclude="2026-01-01"), "exclude"),
        (_config(exclude=["nonsense", None]), "exclude"),
        (_config(start="tomorrow"), "start"),
        (_config(end="0000-00-00"), "end"),
        (_config(fold="twice"), "fold"),
    ],
    ids=lambda text: text[:40],
)
def test_a_timetable_that_cannot_be(
    jobs: HandPlatform, work: FunctionHandler, config: str, fault: str
) -> None:
    by_sql("trigger_config", config)
    three_minutes(jobs)
    assert_the_others_ran()
    assert_it_can_be_looked_at(fault)
    assert not jobs.ledger("bad")
    by_sql("trigger_config", _config())
    planner.edited_outside(clock.now())
    jobs.plan_at(at(12, 4))
    assert Schedule.objects.get(pk="bad").fault == ""
    assert [row.planned_at for row in jobs.ledger("bad")] == [at(12, 4)]


@pytest.mark.parametrize("zone", ["", "Asia/Nowhere", "../../etc/passwd", "/etc/localtime", "x" * 100])
def test_a_zone_that_is_none(jobs: HandPlatform, work: FunctionHandler, zone: str) -> None:
    by_sql("timezone", zone)
    three_minutes(jobs)
    assert_the_others_ran()
    assert_it_can_be_looked_at("timezone")


@pytest.mark.parametrize("every", [0, -5, 0.0001, "abc", 1e12, None, [60]])
def test_an_interval_that_is_none(jobs: HandPlatform, work: FunctionHandler, every: object) -> None:
    by_sql("trigger_config", json.dumps({"every": every, "anchor": "2026-01-01T12:00:00Z"}))
    by_sql("trigger_type", "interval")
    three_minutes(jobs)
    assert_the_others_ran()
    assert_it_can_be_looked_at("every")
    assert not jobs.ledger("bad")


@pytest.mark.parametrize("column", ["misfire_grace_seconds", "catch_up_window_seconds"])
@pytest.mark.parametrize("value", ["-5", "1e308", "NaN"])
def test_a_length_of_time_that_is_none(
    jobs: HandPlatform, work: FunctionHandler, column: str, value: str
) -> None:
    by_sql(column, value)
    three_minutes(jobs)
    assert_the_others_ran()
    assert_it_can_be_looked_at(column)


def test_a_catch_up_window_of_ages_is_one(jobs: HandPlatform, work: FunctionHandler) -> None:
    by_sql("catch_up_window_seconds", "1e12")
    three_minutes(jobs)
    assert [row.status for row in jobs.ledger("bad")] == ["fired"] * 3


@pytest.mark.parametrize(
    "value",
    [MORE_DIGITS_THAN_PYTHON_READS, DEEPER_THAN_PYTHON_READS, '"text"', "null", "5"],
    ids=lambda t: t[:9],
)
def test_params_that_are_none_fail_their_slots(jobs: HandPlatform, work: FunctionHandler, value: str) -> None:
    by_sql("params", value)
    three_minutes(jobs)
    assert_the_others_ran()
    assert [(row.status, row.reason) for row in jobs.ledger("bad")] == [("failed", "PARAMS_INVALID")] * 3
    assert queries.page(queries.ScheduleFilter(), now=clock.now()).rows[1].last is not None


@pytest.mark.parametrize(
    "tenants", ['"acme"', "7", "null", '{"acme": 1}', f"[{MORE_DIGITS_THAN_PYTHON_READS}]"]
)
def test_tenants_that_are_no_list_are_not_read_letter_by_letter(
    jobs: HandPlatform, work: FunctionHandler, tenants: str
) -> None:
    by_sql("audience", "named")
    by_sql("tenants", tenants)
    three_minutes(jobs)
    assert_the_others_ran()
    assert_it_can_be_looked_at("tenants")
    assert set(ScheduleState.objects.filter(schedule_id="bad").values_list("tenant_id", flat=True)) == {""}
    by_sql("tenants", '["acme"]')
    planner.edited_outside(clock.now())
    jobs.plan_at(at(12, 4))
    assert [row.planned_at for row in jobs.ledger("bad", "acme")] == [at(12, 4)]
    assert Schedule.objects.get(pk="bad").fault == ""


@pytest.mark.parametrize(("audience", "tenants"), [("named", "[]"), ("every", "[]"), ("named", '["acme"]')])
@pytest.mark.parametrize("seen_by", ["a round", "the chore"])
def test_an_audience_that_sql_has_changed(
    jobs: HandPlatform, work: FunctionHandler, audience: str, tenants: str, seen_by: str
) -> None:
    """The round that meets such a row takes away the very cursor that it holds, and goes on."""
    Tenant.objects.create(tenant_id="acme")
    by_sql("audience", audience)
    by_sql("tenants", tenants)
    if seen_by == "the chore":
        planner.edited_outside(clock.now())
    jobs.advance(60)
    done = planner.step(clock.now())
    wanted = set() if tenants == "[]" and audience == "named" else {"acme"}
    taken_up_before = len(wanted) if seen_by == "the chore" else 0
    assert (done.more, done.triggered) == (False, 2 + taken_up_before)
    three_minutes(jobs)
    assert_the_others_ran()
    assert set(ScheduleState.objects.filter(schedule_id="bad").values_list("tenant_id", flat=True)) == wanted
    assert bool(jobs.ledger("bad", "acme")) is bool(wanted) and not jobs.ledger("bad")


@pytest.mark.parametrize(
    "skips",
    [f"[{MORE_DIGITS_THAN_PYTHON_READS}]", DEEPER_THAN_PYTHON_READS, "null", '{"a": 1}', '["2026-13-99"]'],
)
def test_skips_that_are_none_are_forgotten(jobs: HandPlatform, work: FunctionHandler, skips: str) -> None:
    of_its_state("skips", skips)
    three_minutes(jobs)
    assert_the_others_ran()
    assert [row.status for row in jobs.ledger("bad")] == ["fired"] * 3


@pytest.mark.postgres
@pytest.mark.parametrize("instant", ["infinity", "-infinity", "20000-01-01 00:00:00+00"])
@pytest.mark.parametrize("column", ["last_planned_at", "last_fired_at"])
def test_a_cursor_that_cannot_be_read_stops_no_other(
    jobs: HandPlatform, work: FunctionHandler, column: str, instant: str
) -> None:
    if connection.vendor != "postgresql":
        pytest.skip("only PostgreSQL stores such instants")
    of_its_state(column, instant)
    three_minutes(jobs)
    assert_the_others_ran()
    assert "timestamp" in Schedule.objects.get(pk="bad").fault
    of_its_state(column, at(12, 3).isoformat())
    jobs.plan_at(at(12, 4))
    assert [row.planned_at for row in jobs.ledger("bad") if row.status == "fired"] == [at(12, 4)]
    assert Schedule.objects.get(pk="bad").fault == ""


@pytest.mark.parametrize("column", ["created_at", "edited_at", "archived_at"])
def test_a_row_that_cannot_be_read_is_not_in_the_way_of_other_edits(
    jobs: HandPlatform, work: FunctionHandler, column: str
) -> None:
    by_sql(column, "infinity")
    for each in ("a", "bad", "c"):
        Schedule.objects.filter(pk=each).update(trigger_config={"cron": "*/2 * * * *"})
    for minute in (1, 2, 3, 4):
        planner.edited_outside(clock.now())
        jobs.plan_at(at(12, minute))
    assert [row.planned_at for row in jobs.ledger("a")] == [at(12, 2), at(12, 4)]
    assert [row.planned_at for row in jobs.ledger("c")] == [at(12, 2), at(12, 4)]


def test_two_hundred_bad_rows_among_good_ones(jobs: HandPlatform, work: FunctionHandler) -> None:
    columns: dict[str, datetime] = dict.fromkeys(("created_at", "edited_at", "updated_at"), clock.now())
    rows = [
        Schedule(
            id=f"n{n:03}",
            job_type="bad.work",
            trigger_type="cron",
            trigger_config={"cron": "* * * * *"} if n % 2 else {"cron": n},
            misfire="skip",
            **columns,
        )
        for n in range(400)
    ]
    Schedule.objects.bulk_create(rows)
    planner.edited_outside(clock.now())
    three_minutes(jobs)
    assert Job.objects.filter(schedule_id__startswith="n").count() == 600
    assert Schedule.objects.exclude(fault="").count() == 200
    assert cursors.next_due() == at(12, 4)
