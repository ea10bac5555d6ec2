"""The bridge: hints make somebody look, and decide nothing."""

from __future__ import annotations

import random
from datetime import timedelta
from typing import Any

import pytest
from django.db import DatabaseError

from jobsplatform.celery import app
from jobsplatform.kernel import clock
from jobsplatform.testing.platform import HandPlatform
from scheduler import bridge, planner
from scheduler.models import ScheduleTriggerLog
from tasks.handlers import FunctionHandler, job

TASK = app.tasks[bridge.TASK_NAME]


@pytest.fixture
def report(jobs: HandPlatform) -> FunctionHandler:
    @job("bridge.report")
    def report() -> None:
        return None

    return report


def hint(**kwargs: Any) -> int | None:
    return TASK.apply(kwargs=kwargs).get()


def test_an_early_hint_decides_nothing(jobs: HandPlatform, report: FunctionHandler) -> None:
    jobs.schedule(report, cron="0 13 * * *")
    assert hint(schedule_id="test", tenant_id="", request_id_prefix="beat-") == 0
    assert jobs.ledger() == []


def test_a_hint_that_is_due_fires_once_however_often_it_comes(
    jobs: HandPlatform, report: FunctionHandler
) -> None:
    jobs.schedule(report, cron="0 13 * * *")
    jobs.advance(3601)
    assert [hint(schedule_id="test"), hint(schedule_id="test"), hint()] == [1, 0, 0]
    (row,) = jobs.ledger()
    assert row.decided_by.startswith("hint@")


def test_a_hint_without_a_name_plans_all(jobs: HandPlatform, report: FunctionHandler) -> None:
    for name in ("one", "two", "three"):
        jobs.schedule(report, id=name, cron="0 13 * * *")
    jobs.advance(3601)
    assert hint() == 3


def test_a_hint_for_one_looks_after_the_others_too(jobs: HandPlatform, report: FunctionHandler) -> None:
    for name in ("one", "two"):
        jobs.schedule(report, id=name, cron="0 13 * * *")
    jobs.advance(3601)
    assert hint(schedule_id="two") == 2


def test_a_hint_for_nobody_is_harmless(jobs: HandPlatform) -> None:
    assert hint(schedule_id="no such schedule") == 0


@pytest.mark.parametrize(
    "kwargs",
    [
        {"schedule_id": 7},
        {"schedule_id": ["test"]},
        {"schedule_id": "x" * 5000},
        {"planned_at": "2026-01-01T13:00:00Z"},
        {"schedule_id": "test", "force": True},
    ],
)
def test_what_makes_no_sense_is_dropped(
    jobs: HandPlatform, report: FunctionHandler, kwargs: dict[str, Any]
) -> None:
    jobs.schedule(report, cron="0 13 * * *")
    jobs.advance(3601)
    assert hint(**kwargs) is None
    assert jobs.ledger() == []


def test_positions_are_no_names(jobs: HandPlatform) -> None:
    assert TASK.apply(args=["test"]).get() is None


def test_a_database_that_is_away_is_no_error_of_the_task(
    jobs: HandPlatform, monkeypatch: pytest.MonkeyPatch
) -> None:
    def away(*_: Any, **__: Any) -> None:
        raise DatabaseError("gone")

    monkeypatch.setattr(planner, "step", away)
    assert hint(schedule_id="test") is None


def test_a_storm_of_hints_decides_the_calendar_and_no_more(
    jobs: HandPlatform, report: FunctionHandler
) -> None:
    """Lost, doubled, early and late ones: the ledger is the calendar."""
    jobs.schedule(report, cron="*/10 * * * *", misfire="catch_up_limited", config={"misfire_limit": 50})
    dice, start = random.Random(4), clock.now()
    for _ in range(200):
        jobs.advance(dice.choice([0, 1, 20, 61, 130, 400]))
        if dice.random() < 0.6:
            for _ in range(dice.randint(1, 3)):
                hint(schedule_id=dice.choice(["test", ""]))
    hint(schedule_id="test")
    rows = list(
        ScheduleTriggerLog.objects.order_by("planned_at").values_list("planned_at", "status", "slot_count")
    )
    count = int((clock.now() - start) / timedelta(minutes=10))
    assert count > 20
    assert rows == [(start + timedelta(minutes=10 * (n + 1)), "fired", 1) for n in range(count)]
