"""Verbs of schedules racing on real connections: one run a key, one edit a revision, no slot lost or doubled."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from datetime import timedelta
from typing import TypeVar

import pytest
from django.db import connections, transaction

from jobsplatform.kernel import clock
from scheduler import control, pauses, planner
from scheduler.errors import ScheduleConflict, ScheduleExists
from scheduler.models import Pause, Schedule, ScheduleState, ScheduleTriggerLog
from scheduler.registry import Declared, ScheduleRegistry
from scheduler.sync import sync
from tasks import registry
from tasks.handlers import job
from tasks.models import Job
from tests.database.barriers import Gate
from tests.database.scheduler.tools import ACTOR, create, spec

pytestmark = pytest.mark.django_db(transaction=True)

T = TypeVar("T")


@pytest.fixture(autouse=True)
def work() -> Iterator[None]:
    with registry.preserved():

        @job("tests.work")
        def work(n: int = 0) -> None: ...

        yield


def together(calls: Sequence[Callable[[], T]]) -> list[T]:
    """Run the calls at the same moment, each on a connection of its own."""
    start = threading.Barrier(len(calls))

    def one(call: Callable[[], T]) -> T:
        try:
            start.wait(20)
            return call()
        finally:
            connections.close_all()

    with ThreadPoolExecutor(len(calls)) as pool:
        return list(pool.map(one, calls))


def test_a_double_click_is_one_run() -> None:
    create(cron="0 0 1 1 *")
    for n in range(10):
        results = together([lambda n=n: control.run_now("s", key=f"form {n}", actor=ACTOR)] * 4)
        assert len({result.task_id for result in results}) == 1
        assert sorted(result.replayed for result in results) == [False, True, True, True]
    assert Job.objects.count() == ScheduleTriggerLog.objects.count() == 10


def test_of_two_edits_of_one_revision_one_is_told_to_look_again() -> None:
    create()

    def edit(text: str) -> str:
        try:
            control.update("s", spec(description=text), revision=1, actor=ACTOR)
        except ScheduleConflict:
            return ""
        return text

    stored = together([lambda: edit("one"), lambda: edit("two")])
    assert Schedule.objects.get().description in stored
    assert stored.count("") == 1


def test_two_who_make_one_schedule_make_it_once() -> None:
    def make() -> bool:
        try:
            create()
        except ScheduleExists:
            return False
        return True

    assert sorted(together([make] * 4)) == [False, False, False, True]
    assert ScheduleState.objects.count() == 1


def test_processes_that_start_together_store_each_schedule_once() -> None:
    known = ScheduleRegistry()
    for n in range(20):
        known.register(Declared(spec(f"s{n:02}"), "m", f"m.py:{n}"))
    results = together([lambda: sync(clock.now(), ACTOR, known)] * 3)
    assert [result.faults for result in results] == [(), (), ()]
    assert sum(len(result.created) for result in results) == 20
    assert ScheduleState.objects.count() == 20


def test_two_who_pause_make_one_pause() -> None:
    create()
    for scope, target in (("all", ""), ("schedule", "s")):
        together([lambda s=scope, t=target: pauses.pause(s, t, actor=ACTOR)] * 4)
        assert Pause.objects.filter(scope=scope, lifted_at=None).count() == 1


@pytest.mark.postgres
def test_a_pause_waits_for_the_round_under_way_and_nothing_fires_after_it() -> None:
    create(every=1)
    now = clock.now() + timedelta(seconds=5)
    gate = Gate()

    def plan() -> None:
        with transaction.atomic():
            planner.step(now)
            gate.open("planned")
            gate.wait_until_blocked("the planner")

    def stop() -> int:
        gate.wait("planned")
        pauses.pause("schedule", "s", actor=ACTOR)
        return Job.objects.count()

    _, seen = together([plan, stop])
    assert seen == Job.objects.count() > 0
    assert planner.step(now + timedelta(seconds=5)).triggered == 0
    assert ScheduleState.objects.get().next_due_at is None


def test_edits_under_planners_lose_and_double_no_slot() -> None:
    create(every=1, misfire="catch_up_limited", misfire_limit=100)
    start = ScheduleState.objects.get().last_planned_at
    rounds = 15

    def plan() -> None:
        for n in range(rounds * 3):
            planner.step(start + timedelta(seconds=n / 3))

    def edit() -> None:
        for n in range(rounds):
            row = Schedule.objects.get()
            wish = spec(every=1 + n % 2, misfire="catch_up_limited", misfire_limit=100)
            control.update("s", wish, revision=row.revision, actor=ACTOR, now=start + timedelta(seconds=n))

    together([plan, plan, edit])
    planner.step(start + timedelta(seconds=rounds))
    slots = list(ScheduleTriggerLog.objects.filter(origin="auto").values_list("planned_at", flat=True))
    assert len(slots) == len(set(slots))
    assert Job.objects.count() == ScheduleTriggerLog.objects.filter(status="fired").count()
    assert all(slot is not None and start < slot <= start + timedelta(seconds=rounds) for slot in slots)
