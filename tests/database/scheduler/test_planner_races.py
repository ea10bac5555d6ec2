"""Several planners on connections of their own: each slot has one decision and one job, and nobody waits in vain."""

from __future__ import annotations

import threading
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from datetime import UTC, datetime, timedelta
from functools import partial
from typing import TypeVar

import pytest
from django.db import connection, connections, transaction

from scheduler import cursors, planner, steps
from scheduler.models import Schedule, ScheduleState, ScheduleTriggerLog
from scheduler.requests import ScheduleTriggerRequest, StepResult
from scheduler.trigger import trigger
from tasks import registry
from tasks.handlers import job
from tasks.models import Job
from tests.database.barriers import Gate

pytestmark = [pytest.mark.postgres, pytest.mark.django_db(transaction=True)]

NOON = datetime(2026, 1, 1, 12, tzinfo=UTC)
MINUTE = timedelta(minutes=1)
T = TypeVar("T")


@pytest.fixture(autouse=True)
def handlers() -> Iterator[None]:
    with registry.preserved():

        @job("race.tick")
        def tick() -> None:
            return None

        @job("race.alone", exclusive=True)
        def alone() -> None:
            return None

        yield


def store(count: int, job_type: str = "race.tick", cron: str = "* * * * *") -> None:
    rows = [
        Schedule(
            id=f"s{n:04}",
            job_type=job_type,
            trigger_type="cron",
            trigger_config={"cron": cron},
            misfire="catch_up_limited",
            created_at=NOON,
            edited_at=NOON,
            updated_at=NOON,
        )
        for n in range(count)
    ]
    Schedule.objects.bulk_create(rows)
    cursors.applied([row.pk for row in rows])
    ScheduleState.objects.bulk_create(
        [
            ScheduleState(schedule=row, last_planned_at=NOON, next_due_at=NOON + MINUTE, revision=1)
            for row in rows
        ]
    )


def together(calls: Sequence[Callable[[], T]]) -> list[T]:
    """Run the calls at the same moment, each on a connection of its own."""
    start = threading.Barrier(len(calls))

    def one(call: Callable[[], T]) -> T:
        try:
            connection.ensure_connection()
            start.wait(timeout=30)
            return call()
        finally:
            connections.close_all()

    with ThreadPoolExecutor(len(calls)) as pool:
        return list(pool.map(one, calls))


def plan_all(name: str, now: datetime, limit: int = 20) -> int:
    """Rounds until nothing is due, or in another's hands; how many jobs."""
    made, empty = 0, 0
    while empty < 3:
        done = planner.step(now, instance=name, limit=limit)
        made += done.triggered
        empty = 0 if done.checked else empty + 1
    return made


def first_of(request: ScheduleTriggerRequest, now: datetime) -> int:
    """Triggers; 1 when it was decided by that."""
    return int(not trigger(request, now).replayed)


def assert_each_once(expected: int) -> None:
    rows = ScheduleTriggerLog.objects.filter(status="fired").values_list(
        "schedule_id", "planned_at", "task_id"
    )
    slots = Counter((schedule_id, planned_at) for schedule_id, planned_at, _ in rows)
    assert len(slots) == expected and set(slots.values()) == {1}
    jobs = Counter(Job.objects.values_list("schedule_id", "planned_at"))
    assert jobs == slots
    assert {task_id for _, _, task_id in rows} == set(Job.objects.values_list("id", flat=True))


def test_three_planners_share_two_hundred_schedules() -> None:
    store(200)
    for minute in range(1, 6):
        now = NOON + minute * MINUTE
        made = together([partial(plan_all, f"p{n}", now) for n in range(3)])
        assert sum(made) == 200
    assert_each_once(1000)
    assert len(set(ScheduleTriggerLog.objects.values_list("decided_by", flat=True))) > 1


def test_planners_whose_clocks_differ_still_decide_each_slot_once() -> None:
    store(50)
    for minute in range(1, 6):
        calls = [
            partial(plan_all, f"p{skew}", NOON + minute * MINUTE + timedelta(seconds=skew))
            for skew in (-2, 0, 2)
        ]
        together(calls)
    assert_each_once(250)


def test_one_planner_passes_over_what_another_holds(monkeypatch: pytest.MonkeyPatch) -> None:
    store(2)
    gate = Gate()
    holder = threading.get_ident()

    def hold(name: str) -> None:
        if name == "before_commit" and threading.get_ident() != holder:
            gate.open("planned")
            gate.wait("go on")

    monkeypatch.setattr(steps, "reached", hold)

    def first() -> StepResult:
        try:
            return planner.step(NOON + MINUTE, instance="first", limit=1)
        finally:
            connections.close_all()

    with ThreadPoolExecutor(1) as pool:
        busy = pool.submit(first)
        gate.wait("planned")
        mine = planner.step(NOON + MINUTE, instance="second")
        again = planner.step(NOON + MINUTE, instance="second")
        gate.open("go on")
        assert busy.result().triggered == 1
    assert mine.triggered == 1 and again.checked == 0
    assert again.next_due_at is not None and again.next_due_at > NOON + MINUTE  # it does not spin
    assert_each_once(2)


def test_a_trigger_by_name_and_the_planner_make_one_job() -> None:
    for minute in range(1, 11):
        if minute == 1:
            store(1)
        now = NOON + minute * MINUTE
        request = ScheduleTriggerRequest("s0000", planned_at=now, by="hand")
        outcomes = together(
            [
                partial(plan_all, "planner", now),
                partial(first_of, request, now),
                partial(first_of, request, now),
            ]
        )
        assert sum(outcomes) == 1
    assert_each_once(10)


def test_a_double_click_is_one_run() -> None:
    store(1)
    request = ScheduleTriggerRequest("s0000", origin="manual:form", job_origin="manual")
    results = together([lambda: trigger(request, NOON) for _ in range(4)])
    assert sorted(result.replayed for result in results) == [False, True, True, True]
    assert len({result.task_id for result in results}) == 1 == Job.objects.count()


def test_a_trigger_without_any_state_is_decided_by_the_key_alone() -> None:
    store(1)
    ScheduleState.objects.all().delete()
    request = ScheduleTriggerRequest("s0000", planned_at=NOON)
    results = together([lambda: trigger(request, NOON) for _ in range(4)])
    assert sorted(result.replayed for result in results) == [False, True, True, True]
    assert ScheduleTriggerLog.objects.count() == Job.objects.count() == 1


def test_run_now_beside_the_slot_of_a_type_that_runs_alone() -> None:
    store(1, "race.alone")
    now = NOON + MINUTE
    request = ScheduleTriggerRequest("s0000", origin="manual:1", job_origin="manual")
    together([lambda: plan_all("planner", now), lambda: int(trigger(request, now).status == "fired")])
    plan_all("later", now)  # the planner may have found the schedule in the trigger's hands
    assert Job.objects.count() == 1
    told = sorted(ScheduleTriggerLog.objects.values_list("status", "reason"))
    assert told == [("fired", ""), ("skipped", "already_running")]


def test_an_edit_that_commits_in_between_wins(monkeypatch: pytest.MonkeyPatch) -> None:
    """Whoever writes past us holds no lock of the states: a cursor moves only under the revision that was read."""
    store(3)
    edited = []

    def edit(name: str) -> None:
        if name == "before_cursor" and not edited:
            edited.append(name)

            def elsewhere() -> None:
                try:
                    Schedule.objects.filter(pk="s0001").update(revision=2, edited_at=NOON + MINUTE)
                finally:
                    connections.close_all()

            with ThreadPoolExecutor(1) as pool:
                pool.submit(elsewhere).result()

    monkeypatch.setattr(steps, "reached", edit)
    plan_all("planner", NOON + MINUTE)
    assert edited
    fired = ScheduleTriggerLog.objects.filter(status="fired").values_list("schedule_id", flat=True)
    assert sorted(fired) == ["s0000", "s0002"]  # the slot of s0001 lies before the edit
    assert_each_once(2)
    state = ScheduleState.objects.get(schedule_id="s0001")
    assert (state.revision, state.last_planned_at) == (2, NOON + MINUTE)


def test_a_planner_that_dies_leaves_its_slots_to_the_others(monkeypatch: pytest.MonkeyPatch) -> None:
    class Death(BaseException):
        pass

    store(20)
    holder = threading.get_ident()

    def die(name: str) -> None:
        if name == "before_commit" and threading.get_ident() != holder:
            raise Death

    monkeypatch.setattr(steps, "reached", die)

    def dying() -> None:
        try:
            planner.step(NOON + MINUTE)
        except Death:
            pass
        finally:
            connections.close_all()

    with ThreadPoolExecutor(1) as pool:
        pool.submit(dying).result()
    assert not Job.objects.exists()
    assert plan_all("heir", NOON + MINUTE) == 20
    assert_each_once(20)


def test_planners_and_waking_edits_do_not_lock_each_other_out() -> None:
    store(100)
    ids = [f"s{n:04}" for n in range(100)]

    def wake(order: Sequence[str]) -> int:
        for minute in range(1, 6):
            with transaction.atomic():
                cursors.wake(order, NOON + minute * MINUTE)
        return 0

    def plan(name: str) -> int:
        return sum(plan_all(name, NOON + minute * MINUTE) for minute in range(1, 6))

    together([lambda: plan("a"), lambda: plan("b"), lambda: wake(ids), lambda: wake(ids[::-1])])
    plan_all("last", NOON + 5 * MINUTE)
    assert_each_once(500)
