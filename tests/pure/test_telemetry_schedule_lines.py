"""What is written about schedules: one line an event."""

import logging
from collections.abc import Iterator
from datetime import UTC, datetime
from typing import Any
from uuid import UUID

import pytest

from jobsplatform.kernel import events as kernel_events
from jobsplatform.telemetry import schedule_lines
from jobsplatform.telemetry.logs import FIELDS
from scheduler import events
from scheduler.states import Status
from tests.pure.test_telemetry_lines import Ear

SLOT = datetime(2026, 3, 1, 2, 30, tzinfo=UTC)
JOB = UUID(int=7)


@pytest.fixture
def heard() -> Iterator[list[logging.LogRecord]]:
    ear, before = Ear(), schedule_lines.logger.level
    schedule_lines.logger.addHandler(ear)
    schedule_lines.logger.setLevel(logging.DEBUG)
    yield ear.records
    schedule_lines.logger.removeHandler(ear)
    schedule_lines.logger.setLevel(before)


def slot(status: Status, reason: str = "", **more: Any) -> events.SlotDecided:
    return events.SlotDecided("nightly", "", SLOT, status, reason=reason, **more)


UNTIL = datetime(2026, 3, 3, 2, 30, tzinfo=UTC)
LINES = [
    (
        slot(Status.FIRED, task_id=JOB, late_ms=312.4),
        "DEBUG", "slot.fired", "schedule nightly: slot 2026-03-01T02:30:00Z fired after 312ms",
    ),
    (
        slot(Status.SKIPPED, "misfire"),
        "INFO", "slot.skipped", "schedule nightly: slot 2026-03-01T02:30:00Z skipped — misfire",
    ),
    (
        slot(Status.PAUSED, "paused", slots=3, planned_until=UNTIL),
        "INFO", "slot.paused",
        "schedule nightly: 3 slots from 2026-03-01T02:30:00Z to 2026-03-03T02:30:00Z paused — paused",
    ),
    (
        slot(Status.FAILED, "PARAMS_INVALID", error="n: expected\na number"),
        "WARNING", "slot.failed",
        "schedule nightly: slot 2026-03-01T02:30:00Z failed — n: expected a number",
    ),
    (
        events.SlotDecided("nightly", "", None, Status.FIRED, origin="manual:k", task_id=JOB),
        "DEBUG", "slot.fired", "schedule nightly: run manual:k fired",
    ),
    (
        events.ScheduleFaulty("nightly", "Unknown zone 'Mars'."),
        "WARNING", "schedule.faulty",
        "schedule nightly is faulty and decides nothing until it is mended — Unknown zone 'Mars'.",
    ),
    (events.ScheduleMended("nightly"), "INFO", "schedule.mended", "schedule nightly can be planned again"),
    (
        events.ScheduleChanged("nightly", "updated", "anna", 4, "admin"),
        "INFO", "schedule.updated", "schedule nightly updated by anna",
    ),
    (
        events.PauseChanged("schedule", "nightly", True, "anna", "flood"),
        "WARNING", "pause.opened", "schedule nightly paused by anna — flood",
    ),
    (
        events.PauseChanged("schedule", "nightly", True, "failures in a row", "3 failed", True),
        "WARNING", "pause.automatic", "schedule nightly paused by failures in a row — 3 failed",
    ),
    (events.PauseChanged("all", "", False, "anna"), "INFO", "pause.lifted", "everything goes on, by anna"),
    (
        events.BackfillChanged(JOB, "nightly", "", "running", 9),
        "INFO", "backfill.started", "backfill of schedule nightly started: 9 slots",
    ),
    (
        events.BackfillChanged(JOB, "nightly", "", "done", 9, 4, 5, 1),
        "INFO", "backfill.done", "backfill of schedule nightly done: 9 slots, 4 run, 5 passed over, 1 failed",
    ),
    (
        events.SchedulesOverdue(("a", "b"), 2, 90.0),
        "WARNING", "schedule.overdue", "2 schedules are overdue, the longest 1m30s: a, b",
    ),
    (events.SchedulesOverdue((), 0), "INFO", "schedule.on_time", "no schedule is overdue any more"),
]  # fmt: skip


@pytest.mark.parametrize(
    ("event", "level", "name", "text"), LINES, ids=[f"{n}-{line[2]}" for n, line in enumerate(LINES)]
)
def test_each_event_is_one_line(
    heard: list[logging.LogRecord], event: object, level: str, name: str, text: str
) -> None:
    kernel_events.deliver(event)
    (record,) = heard
    assert (record.levelname, record.getMessage(), record.__dict__[FIELDS]["text"]) == (level, name, text)


def test_every_event_of_schedules_has_a_line() -> None:
    known = {
        cls
        for name, cls in vars(events).items()
        if isinstance(cls, type) and cls.__module__ == events.__name__
    }
    assert known == set(schedule_lines._SUBSCRIBERS) == {type(line[0]) for line in LINES}


def test_facts_of_a_decision_are_fields(heard: list[logging.LogRecord]) -> None:
    kernel_events.deliver(
        slot(Status.FIRED, task_id=JOB, task_type="shop:report", late_ms=0.123, decided_by="beat 1")
    )
    facts = heard[0].__dict__[FIELDS]
    assert facts["job_id"] == str(JOB) and facts["job"] == "shop:report"
    assert facts["planned_at"] == "2026-03-01T02:30:00Z" and facts["planned_until"] is None
    assert facts["late_ms"] == 0.1 and facts["decided_by"] == "beat 1"


def test_a_level_that_is_off_costs_no_line(heard: list[logging.LogRecord]) -> None:
    schedule_lines.logger.setLevel(logging.INFO)
    kernel_events.deliver(slot(Status.FIRED, task_id=JOB))
    assert heard == []


def test_a_flood_of_names_is_cut(heard: list[logging.LogRecord]) -> None:
    kernel_events.deliver(events.SchedulesOverdue(tuple(f"s{n}" for n in range(100)), 4000, 60.0))
    assert heard[0].__dict__[FIELDS]["schedules"] == [f"s{n}" for n in range(10)]
    assert heard[0].__dict__[FIELDS]["text"].endswith("s9, …")
