"""Reads of schedules: next slots, last decisions, what became of them, pages without gaps."""

from __future__ import annotations

from datetime import datetime, timedelta
from typing import Any
from uuid import UUID

import pytest
from django.db import connection
from django.test.utils import CaptureQueriesContext

from jobsplatform.kernel import clock
from jobsplatform.kernel.errors import InvalidInput
from jobsplatform.kernel.models import Tenant
from jobsplatform.testing.factory import make_job
from jobsplatform.testing.platform import HandPlatform
from scheduler import control, ledger, pauses, queries
from scheduler.errors import ScheduleNotFound
from scheduler.models import Schedule, ScheduleState, ScheduleTriggerLog
from scheduler.outcomes import Outcome
from scheduler.queries import LogFilter, ScheduleFilter
from scheduler.states import PauseScope, Status
from tasks.handlers import job
from tasks.states import Hold, State
from tests.database.scheduler.tools import ACTOR, at, create, tick, turn


@pytest.fixture(autouse=True)
def work(jobs: HandPlatform) -> None:
    @job("tests.work")
    def work(n: int = 0) -> None: ...


def log(planned_at: datetime | None, status: Status = Status.SKIPPED, **columns: Any) -> ScheduleTriggerLog:
    values: dict[str, Any] = {
        "schedule_id": "s",
        "planned_at": planned_at,
        "origin": "auto",
        "triggered_at": planned_at or at(12),
        "status": status,
        "reason": "" if status is Status.FIRED else "misfire",
        **columns,
    }
    return ScheduleTriggerLog.objects.create(**values)


# -- outcomes ----------------------------------------------------------------------------------------

OUTCOMES = [
    (State.PENDING, {}, Outcome.WAITING),
    (State.PENDING, {"hold": Hold.TENANT}, Outcome.WAITING),
    (State.DISPATCHED, {}, Outcome.WAITING),
    (State.RUNNING, {}, Outcome.RUNNING),
    (State.WAITING, {}, Outcome.RUNNING),
    (State.PAUSED, {}, Outcome.PAUSED),
    (State.COMPLETED, {}, Outcome.RUN),
    (State.FAILED, {}, Outcome.FAILED),
    (State.CANCELLED, {"reason": "overlap"}, Outcome.OVERLAPPED),
    (State.CANCELLED, {"reason": "latest_start"}, Outcome.EXPIRED),
    (State.CANCELLED, {"reason": "user"}, Outcome.CANCELLED),
]


@pytest.mark.parametrize(("state", "columns", "wanted"), OUTCOMES)
def test_what_became_of_a_fired_slot_is_read_from_its_job(
    jobs: HandPlatform, state: State, columns: dict[str, Any], wanted: Outcome
) -> None:
    made = make_job(state, **columns)
    row = log(at(12), Status.FIRED, task_id=made.id)
    assert queries.outcome_of(row) is wanted


def test_every_state_of_a_job_has_a_word() -> None:
    assert {state for state, _, _ in OUTCOMES} == set(State)


@pytest.mark.parametrize("status", [s for s in Status if s is not Status.FIRED])
def test_of_a_slot_that_did_not_fire_nothing_became(jobs: HandPlatform, status: Status) -> None:
    assert queries.outcome_of(log(at(12), status)) is Outcome.NONE


def test_a_job_past_its_retention(jobs: HandPlatform) -> None:
    assert queries.outcome_of(log(at(12), Status.FIRED, task_id=UUID(int=7))) is Outcome.GONE


# -- slots -------------------------------------------------------------------------------------------


def test_next_slots_with_the_one_that_is_skipped(jobs: HandPlatform) -> None:
    schedule = create(cron="0 * * * *")
    control.skip_next("s", actor=ACTOR)
    shown = queries.show("s", now=clock.now(), slots=3)
    assert [(slot.planned_at, slot.skipped) for slot in shown.slots] == [
        (at(13), True), (at(14), False), (at(15), False),
    ]  # fmt: skip
    assert [slot.planned_at for slot in queries.next_slots(schedule, 2, after=at(13))] == [at(14), at(15)]
    for wrong in (0, 1001):
        with pytest.raises(InvalidInput, match="from 1 to 1000"):
            queries.next_slots(schedule, wrong, after=at(13))


def test_jitter_is_shown_with_the_slot(jobs: HandPlatform) -> None:
    create(cron="0 * * * *", jitter=600)
    (slot,) = queries.show("s", now=clock.now(), slots=1).slots
    assert at(13) <= slot.due_at < at(13, 10)


def test_a_faulty_schedule_is_shown_with_its_fault(jobs: HandPlatform) -> None:
    create(cron="0 * * * *")
    Schedule.objects.update(timezone="Mars/Olympus")
    shown = queries.show("s", now=clock.now())
    assert shown.slots == [] and "Mars/Olympus" in shown.fault


def test_what_comes_first_of_all(jobs: HandPlatform) -> None:
    for name, minute in (("late", 50), ("soon", 5), ("paused", 1), ("mid", 20)):
        create(name, cron=f"{minute} * * * *")
    create("manual", manual=True)
    pauses.pause(PauseScope.SCHEDULE, "paused", actor=ACTOR)
    assert [state.schedule.id for state in queries.upcoming()] == ["soon", "mid", "late"]
    assert [state.schedule_id for state in queries.upcoming(1)] == ["soon"]


def test_an_unknown_schedule_names_the_nearest(jobs: HandPlatform) -> None:
    create("reports.daily")
    create("alpha")
    for asked in ("report.daily", "reports.dayly"):
        with pytest.raises(ScheduleNotFound, match="Did you mean 'reports.daily'"):
            queries.find(asked)
    with pytest.raises(ScheduleNotFound, match="Known: alpha"):
        queries.find("")


# -- lists -------------------------------------------------------------------------------------------


def test_a_list_tells_pause_last_decision_outcome_and_next_slot(jobs: HandPlatform) -> None:
    create("a", cron="0 * * * *")
    create("b", cron="30 * * * *")
    create("c", at="2026-01-01T12:10:00Z", misfire="run_once")
    create("d", manual=True)
    turn(jobs, at(12, 40))
    jobs.drain()
    pauses.pause(PauseScope.SCHEDULE, "b", actor=ACTOR)
    a, b, c, d = queries.page(ScheduleFilter(), now=clock.now()).rows
    assert (a.last, a.next_slot_at, a.pause, a.finished) == (None, at(13), None, False)
    assert b.last is not None and (b.last.outcome, b.last_fired_at) == (Outcome.RUN, at(12, 30))
    assert b.pause is not None and b.next_slot_at is None and not b.finished
    assert c.finished and c.next_slot_at is None and c.last is not None
    assert not d.finished and d.next_slot_at is None


def test_the_end_of_a_schedule_is_not_the_end_of_a_list(jobs: HandPlatform) -> None:
    """One without any slot to come is shown as finished, with an empty next run."""
    create("gone", cron="0 * * * *", end="2026-01-01T12:30:00Z")
    create("here", cron="0 * * * *")
    found = {row.schedule.id: row for row in queries.page(ScheduleFilter(), now=clock.now()).rows}
    assert found["gone"].finished and found["gone"].next_slot_at is None
    assert not found["here"].finished


def test_a_pause_of_everything_is_seen_at_each_row(jobs: HandPlatform) -> None:
    create(cron="0 * * * *")
    pauses.pause(PauseScope.ALL, actor=ACTOR, expires_at=at(14))
    (row,) = queries.page(ScheduleFilter(), now=at(13)).rows
    assert row.pause is not None and row.next_slot_at is None
    (row,) = queries.page(ScheduleFilter(), now=at(14, 0, 1)).rows
    assert row.pause is None  # its time is over, whoever lifts it


def test_pages_by_id_neither_skip_nor_repeat(jobs: HandPlatform) -> None:
    for n in range(7):
        create(f"s{n}")
    seen, after = [], ""
    while True:
        page = queries.page(ScheduleFilter(), now=clock.now(), limit=3, after=after)
        seen += [row.schedule.id for row in page.rows]
        if page.next is None:
            break
        create(f"s{page.next[1:]}x")  # one comes in between
        after = page.next
    assert seen == ["s0", "s1", "s2", "s2x", "s3", "s4", "s4x", "s5", "s6"]


FILTERS = [
    ({"search": "nigh"}, {"nightly"}),
    ({"search": "NIGH"}, {"nightly"}),
    ({"search": "tests.w"}, {"nightly", "hourly", "broken"}),
    ({"trigger_type": "interval"}, {"hourly"}),
    ({"faulty": True}, {"broken"}),
    ({"faulty": False}, {"nightly", "hourly"}),
    ({"archived": True}, {"old"}),
    ({"archived": None}, {"nightly", "hourly", "broken", "old"}),
    ({"source": "code"}, set()),
    ({"app_id": "x"}, set()),
]


@pytest.mark.parametrize(("given", "wanted"), FILTERS)
def test_filters(jobs: HandPlatform, given: dict[str, Any], wanted: set[str]) -> None:
    create("nightly", cron="0 2 * * *")
    create("hourly", every="1h")
    create("broken", cron="0 3 * * *")
    create("old", cron="0 4 * * *")
    Schedule.objects.filter(id="broken").update(fault="x", fault_at=clock.now())
    control.archive("old", actor=ACTOR)
    found = queries.page(ScheduleFilter(**given), now=clock.now())
    assert {row.schedule.id for row in found.rows} == wanted


def test_a_list_costs_as_many_queries_for_forty_as_for_one(jobs: HandPlatform) -> None:
    counts = []
    for names in (["a"], [f"b{n}" for n in range(40)]):
        for name in names:
            create(name, cron="* * * * *")
        turn(jobs, clock.now() + timedelta(minutes=2))
        with CaptureQueriesContext(connection) as asked:
            found = queries.page(ScheduleFilter(), now=clock.now())
        assert all(row.last and row.last.job for row in found.rows)
        counts.append(len(asked))
    assert counts[0] == counts[1] <= 7
    assert not any('"result"' in query["sql"] for query in asked)


def test_tenants_of_a_schedule_are_counted_not_read(jobs: HandPlatform) -> None:
    for n in range(30):
        Tenant.objects.create(tenant_id=f"t{n:02}")
    create(cron="0 * * * *", tenants="*")
    (row,) = queries.page(ScheduleFilter(), now=clock.now()).rows
    assert (row.states, row.next_slot_at) == (30, at(13))
    assert len(queries.show("s", now=clock.now(), tenant_id="t01").states) == queries.STATES_SHOWN


# -- the log -----------------------------------------------------------------------------------------


def all_pages(wanted: LogFilter, limit: int) -> list[UUID]:
    seen, after = [], None
    while True:
        page = queries.log_page(wanted, limit=limit, after=after)
        seen += [entry.row.id for entry in page.entries]
        after = page.next
        if after is None:
            return seen


@pytest.mark.parametrize("limit", [1, 2, 3, 7, 50])
def test_pages_of_the_log_are_all_of_it_newest_first(jobs: HandPlatform, limit: int) -> None:
    """Many rows of one round share their time to the microsecond."""
    rows = [log(at(12, n), triggered_at=at(13, n // 4)) for n in range(14)]
    wanted = [row.id for row in sorted(rows, key=lambda r: (r.triggered_at, r.id), reverse=True)]
    assert all_pages(LogFilter(), limit) == wanted
    assert all_pages(LogFilter(schedule_id="s"), limit) == wanted


LOG_FILTERS = [
    ({"schedule_id": "s"}, {"s fired", "s skipped", "s manual", "s backfill"}),
    ({"tenant_id": "t1"}, {"t fired"}),
    ({"tenant_id": ""}, {"s fired", "s skipped", "s manual", "s backfill"}),
    ({"statuses": (Status.SKIPPED,)}, {"s skipped"}),
    (
        {"statuses": (Status.SKIPPED, Status.FIRED)},
        {"s fired", "s skipped", "s manual", "s backfill", "t fired"},
    ),
    ({"origin": "auto"}, {"s fired", "s skipped", "t fired"}),
    ({"origin": "manual"}, {"s manual"}),
    ({"origin": "backfill"}, {"s backfill"}),
    ({"origin": "manual:k"}, {"s manual"}),
    ({"since": at(13)}, {"s manual", "s backfill", "t fired"}),
    ({"until": at(13)}, {"s fired", "s skipped"}),
]


@pytest.mark.parametrize(("given", "wanted"), LOG_FILTERS)
def test_filters_of_the_log(jobs: HandPlatform, given: dict[str, Any], wanted: set[str]) -> None:
    made = make_job().id
    fired = {"status": Status.FIRED, "task_id": made, "reason": ""}
    rows = {
        "s fired": log(at(12), **fired),
        "s skipped": log(at(12, 1)),
        "s manual": log(None, **fired, origin="manual:k", triggered_at=at(13)),
        "s backfill": log(at(12), **fired, origin="backfill:b", triggered_at=at(13)),
        "t fired": log(at(13), **fired, schedule_id="t", tenant_id="t1"),
    }
    names = {row.id: name for name, row in rows.items()}
    assert {names[found] for found in all_pages(LogFilter(**given), 50)} == wanted


@pytest.mark.parametrize("wrong", ["", "x", "2026-01-01_x", "2026-01-01T00:00:00_" + "0" * 32])
def test_a_cursor_that_is_none(jobs: HandPlatform, wrong: str) -> None:
    with pytest.raises(InvalidInput, match="cursor"):
        queries.log_page(LogFilter(), after=wrong)


@pytest.mark.postgres
@pytest.mark.parametrize(
    ("given", "index"),
    [
        ({}, "log_by_time"),
        ({"schedule_id": "s1"}, "log_by_schedule"),
        ({"statuses": (Status.FAILED,)}, "log_not_fired"),
    ],
)
def test_each_page_is_read_by_an_index(jobs: HandPlatform, given: dict[str, Any], index: str) -> None:
    many = [
        ScheduleTriggerLog(
            schedule_id=f"s{n % 50}", planned_at=at(0) + timedelta(seconds=n), origin="auto",
            triggered_at=at(0) + timedelta(seconds=n), status=Status.SKIPPED, reason="misfire",
        )
        for n in range(5000)
    ]  # fmt: skip
    ScheduleTriggerLog.objects.bulk_create(many)
    with connection.cursor() as cursor:
        cursor.execute("ANALYZE scheduler_scheduletriggerlog")
    rows = LogFilter(**given).queryset().filter(triggered_at__lte=at(1)).order_by("-triggered_at", "-id")[:51]
    assert index in rows.explain()


# -- decisions about slots ---------------------------------------------------------------------------


def test_a_slot_is_found_in_its_row_or_in_the_range_that_covers_it(jobs: HandPlatform) -> None:
    alone = log(at(12))
    wide = log(at(13), planned_until=at(15), slot_count=3, reason="paused", status=Status.PAUSED)
    excluded = log(at(16), status=Status.EXCLUDED)
    later = log(at(17), planned_until=at(19), slot_count=3)
    wanted = {11: None, 12: alone, 13: wide, 14: wide, 15: wide, 16: excluded, 17: later, 18: later, 20: None}
    for hour, row in wanted.items():
        assert ledger.decision_of("s", "", at(hour)) == row, hour
    found = ledger.decided("s", "", [at(hour) for hour in wanted])
    assert {slot.hour: one.auto for slot, one in found.items()} == wanted
    assert ledger.decision_of("s", "t1", at(12)) is None
    assert ledger.decided("s", "", []) == {}


def test_the_last_decision_of_each_schedule_is_the_newest(jobs: HandPlatform) -> None:
    create("s")
    create("t")
    turn(jobs, at(12, 3))
    control.run_now("s", key="k", actor=ACTOR)
    found = queries.last_of_each(["s", "t", "u"])
    assert found["s"].row.origin.startswith("manual:") and found["t"].row.planned_at == at(12, 3)
    assert "u" not in found


def test_run_now_moves_no_slot_and_is_told_apart(jobs: HandPlatform) -> None:
    """A run by hand in the afternoon leaves the nightly slot where it is."""
    create(every=86_400, anchor="2026-01-01T01:00:00Z")
    jobs.clock.set(at(23, 30))
    before = ScheduleState.objects.get().next_due_at
    control.run_now("s", key="k", actor=ACTOR)
    assert ScheduleState.objects.get().next_due_at == before == at(1, day=2)
    (entry,) = queries.show("s", now=clock.now()).decisions
    assert entry.row.planned_at is None and entry.row.origin == "manual:k"


def test_a_late_run_knows_its_slot_and_its_start(jobs: HandPlatform) -> None:
    create(cron="0 0 * * *", misfire="run_once")
    jobs.clock.set(at(9, day=2))
    tick()
    jobs.drain()
    (entry,) = queries.show("s", now=clock.now()).decisions
    assert (entry.row.planned_at, entry.row.triggered_at) == (at(0, day=2), at(9, day=2))
    assert entry.job is not None
    assert (entry.job.planned_at, entry.job.first_started_at) == (at(0, day=2), at(9, day=2))
