"""Timestamps that no program can read, written by SQL: the row is shown as faulty, the others as usual."""

from __future__ import annotations

from typing import Any

import pytest
from django.db import connection
from django.test import Client
from django.urls import reverse

from jobsplatform.kernel import clock
from jobsplatform.testing.platform import HandPlatform
from scheduler import cursors, log_reads, overdue, planner, queries
from scheduler.models import Schedule, ScheduleState, ScheduleTriggerLog
from scheduler.readable import ReadableInstant
from scheduler.why import why
from tasks.handlers import job
from tests.database.cli.ran import ran
from tests.database.scheduler.admin_support import address, logged_in, operator, text
from tests.database.scheduler.tools import at, create

NO_INSTANTS = ["infinity", "-infinity", "20000-01-01 00:00:00+00"]
ONLY_IN_SQLITE = ["next week", "", "2026-02-30 12:00:00", "0", "9999-12-31 23:59:59", b"\xff\x00"]

SCHEDULE, STATE, LOG = "scheduler_schedule", "scheduler_schedulestate", "scheduler_scheduletriggerlog"
KEYS = {SCHEDULE: "id", STATE: "schedule_id", LOG: "schedule_id"}
MODELS = {SCHEDULE: Schedule, STATE: ScheduleState, LOG: ScheduleTriggerLog}
ALL = [
    (table, field.attname)
    for table, model in MODELS.items()
    for field in model._meta.concrete_fields
    if isinstance(field, ReadableInstant)
]


@pytest.fixture
def three(jobs: HandPlatform) -> HandPlatform:
    """Three schedules that have run once, one of them to be spoilt."""

    @job("tests.work")
    def work() -> None: ...

    for name in ("a", "bad", "c"):
        create(name)
    jobs.plan_at(at(12, 1))
    return jobs


def spoil(table: str, column: str, value: object, more: str = "") -> None:
    also = f", {more}" if more else ""
    with connection.cursor() as cursor:
        cursor.execute(f"UPDATE {table} SET {column} = %s{also} WHERE {KEYS[table]} = 'bad'", [value])


def assert_all_can_be_looked_at(client: Client) -> dict[str, Any]:
    """Every list, page and answer that reads the rows; the listed ones by their id."""
    now = clock.now()
    for name in ("schedule", "schedulestate", "scheduletriggerlog"):
        assert client.get(reverse(f"admin:scheduler_{name}_changelist")).status_code == 200
    for model in (ScheduleState, ScheduleTriggerLog):
        row = model.objects.filter(schedule_id="bad").values_list("pk", flat=True).first()
        name = f"admin:scheduler_{model._meta.model_name}_change"
        assert client.get(reverse(name, args=[row])).status_code == 200
    assert client.get(address("change", "bad")).status_code == 200
    for argv in (
        ["list"], ["list", "--json"], ["show", "bad"], ["show", "bad", "--json"], ["next", "bad"],
        ["why", "bad", "2026-01-01T12:01:00Z"],
    ):  # fmt: skip
        answer = ran("schedules", *argv)
        assert answer.code == 0, answer.err
    assert why("bad", at(12, 1), "", now).sentence
    assert why("bad", at(12, 9), "", now).sentence
    overdue.report(now)
    log_reads.log_page(log_reads.LogFilter(), limit=1)
    planner.next_due()
    rows = queries.page(queries.ScheduleFilter(archived=None), now=now).rows
    return {row.schedule.id: row for row in rows}


@pytest.mark.parametrize(("table", "column"), ALL, ids=str)
def test_whatever_timestamp_is_spoilt_all_can_be_looked_at(
    three: HandPlatform, table: str, column: str
) -> None:
    if column == "planned_until":
        spoil(table, "slot_count", 2, f"{column} = 'infinity'")  # a range has two slots or more
    spoil(table, column, "infinity")
    rows = assert_all_can_be_looked_at(operator())
    assert (rows["a"].schedule.fault, rows["c"].schedule.fault) == ("", "")
    assert rows["a"].next_slot_at == rows["c"].next_slot_at == at(12, 2)
    if table == SCHEDULE:
        assert f"{column}: no timestamp that can be read" in rows["bad"].schedule.fault
    three.plan_at(at(12, 2))
    queries.page(queries.ScheduleFilter(archived=None), now=clock.now())
    queries.show("bad", now=clock.now())
    three.plan_at(at(12, 3))
    assert [len(three.ledger(name)) for name in ("a", "c")] == [3, 3]


@pytest.mark.parametrize("value", [*NO_INSTANTS, *ONLY_IN_SQLITE], ids=repr)
@pytest.mark.parametrize("table", MODELS)
def test_whatever_stands_in_a_timestamp_it_is_read_as_none(
    three: HandPlatform, table: str, value: object
) -> None:
    if value in ONLY_IN_SQLITE and connection.vendor == "postgresql":
        pytest.skip("PostgreSQL does not store it")
    columns = [column for of, column in ALL if of == table and column != "planned_until"]
    for column in columns:
        spoil(table, column, value)
    now = clock.now()
    row = MODELS[table].objects.get(**{KEYS[table]: "bad"})
    assert {str(getattr(row, column)) for column in columns} == {"unreadable"}
    queries.page(queries.ScheduleFilter(archived=None), now=now)
    queries.show("bad", now=now)
    assert why("bad", at(12, 1), "", now).sentence
    overdue.report(now)
    log_reads.log_page(log_reads.LogFilter(), limit=1)
    three.plan_at(at(12, 2))
    assert [len(three.ledger(name)) for name in ("a", "c")] == [2, 2]


@pytest.mark.parametrize("value", ["infinity", "20000-01-01 00:00:00+00"])
@pytest.mark.parametrize(
    ("table", "column"),
    [(SCHEDULE, "edited_at"), (STATE, "last_planned_at"), (STATE, "last_fired_at")],
    ids=str,
)
def test_such_a_row_is_faulty_at_once_parked_when_due_and_healed_when_mended(
    three: HandPlatform, table: str, column: str, value: str
) -> None:
    before = MODELS[table].objects.filter(**{KEYS[table]: "bad"}).values_list(column, flat=True)[0]
    spoil(table, column, value)
    viewer = logged_in("scheduler.view_schedule")
    words = {row["id"]: row["status"] for row in ran("schedules", "list", "--json").json["schedules"]}
    assert words == {"a": "active", "bad": "faulty", "c": "active"}
    assert "no timestamp that can be read" in text(viewer.get(address("change", "bad")))
    assert "Faulty" in ran("schedules", "next", "bad").err
    three.plan_at(at(12, 2))
    assert [one.schedule_id for one in overdue.report(clock.now()).faulty] == ["bad"]
    assert why("bad", at(12, 2), "", clock.now()).verdict == "faulty"
    assert len(three.ledger("bad")) == 1
    MODELS[table].objects.filter(**{KEYS[table]: "bad"}).update(**{column: before})
    three.plan_at(at(12, 3))
    assert Schedule.objects.get(id="bad").fault == ""
    assert [row.planned_at for row in three.ledger("bad") if row.status == "fired"][-1] == at(12, 3)


@pytest.mark.parametrize("value", NO_INSTANTS)
def test_a_next_look_that_never_comes_stops_no_loop_and_is_overdue(three: HandPlatform, value: str) -> None:
    spoil(STATE, "next_due_at", value)
    three.plan_at(at(12, 2))
    assert cursors.next_due() == at(12, 3)
    three.advance(600)
    late = {one.schedule_id for one in overdue.report(clock.now()).overdue}
    assert "bad" in late or len(three.ledger("bad")) == 2


def test_what_could_not_be_read_and_is_written_again_stays_what_it_is(three: HandPlatform) -> None:
    spoil(SCHEDULE, "created_at", "infinity")
    row = Schedule.objects.get(id="bad")
    row.description = "new"
    row.save()
    again = Schedule.objects.get(id="bad")
    assert again.description == "new" and str(again.created_at) == "unreadable"
