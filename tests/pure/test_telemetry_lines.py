"""What is written about a job: the outcome line word for word, and one line for each other event."""

import logging
from collections.abc import Iterator
from typing import Any
from uuid import UUID

import pytest

from jobsplatform.telemetry import lines
from jobsplatform.telemetry.batching import BATCH
from jobsplatform.telemetry.logs import FIELDS
from tasks import events

JOB = UUID(int=7)


class Ear(logging.Handler):
    """Keeps what is written."""

    def __init__(self) -> None:
        super().__init__()
        self.records: list[logging.LogRecord] = []

    def emit(self, record: logging.LogRecord) -> None:
        self.records.append(record)


@pytest.fixture
def heard() -> Iterator[list[logging.LogRecord]]:
    ear, before = Ear(), lines.logger.level
    lines.logger.addHandler(ear)
    lines.logger.setLevel(logging.INFO)
    yield ear.records
    lines.logger.removeHandler(ear)
    lines.logger.setLevel(before)


def ended(**facts: Any) -> events.RunEnded:
    given = {
        "job_id": JOB, "app_id": "", "job_type": "files.scan", "lease": 2, "attempt": 1, "outcome": "ok",
        "move": "complete", "state": "completed", "count": 3, "elapsed_ms": 12.3,
    }  # fmt: skip
    return events.RunEnded(**{**given, **facts})


def told(record: logging.LogRecord) -> tuple[str, str, str]:
    return record.levelname, record.getMessage(), record.__dict__[FIELDS]["text"]


@pytest.mark.parametrize(
    ("facts", "level", "text"),
    [
        ({}, "INFO", "job files.scan ran in 12ms — count=3"),
        ({"elapsed_ms": 1449.0, "count": 0}, "INFO", "job files.scan ran in 1.4s — count=0"),
        ({"elapsed_ms": 270_000.0, "count": None}, "INFO", "job files.scan ran in 4m30s — count=-"),
        ({"app_id": "video"}, "INFO", "job video:files.scan ran in 12ms — count=3"),
        (
            {"outcome": "paused", "move": "pause", "elapsed_ms": 1400.0},
            "WARNING",
            "job files.scan PAUSED after 1.4s — count=3 (resume when the cause clears)",
        ),
        (
            {"outcome": "err", "move": "fail", "cause": "handler", "error": "disk full", "elapsed_ms": 270_000.0},
            "WARNING",
            "job files.scan failed after 4m30s — disk full",
        ),
        ({"outcome": "err", "error": "a\nb\t c"}, "WARNING", "job files.scan failed after 12ms — a b c"),
        ({"outcome": "err", "cause": "timeout"}, "WARNING", "job files.scan failed after 12ms — timeout"),
    ],
)  # fmt: skip
def test_the_outcome_line(
    heard: list[logging.LogRecord], facts: dict[str, Any], level: str, text: str
) -> None:
    lines.run_ended(ended(**facts))
    assert [told(record) for record in heard] == [(level, "job.run", text)]


def test_the_outcome_line_has_its_fields(heard: list[logging.LogRecord]) -> None:
    lines.run_ended(
        ended(outcome="err", move="fail", cause="handler", error="no", extra={"a": 1}, retryable=True)
    )
    fields = heard[0].__dict__[FIELDS]
    wanted = {
        "job": "files.scan", "outcome": "err", "cause": "handler", "count": 3, "elapsed_ms": 12.3,
        "extra": {"a": 1}, "error": "no", "retryable": True,
    }  # fmt: skip
    assert {name: fields[name] for name in wanted} == wanted
    assert fields["job_id"] == str(JOB) and fields["lease"] == 2


def test_a_long_message_is_cut(heard: list[logging.LogRecord]) -> None:
    lines.run_ended(ended(outcome="err", move="fail", error="x" * 100_000))
    assert len(heard[0].__dict__[FIELDS]["text"]) < 600


@pytest.mark.parametrize(
    ("facts", "level", "event", "part"),
    [
        ({"outcome": "retry", "move": "retry", "retry_in": 5.0}, "WARNING", "job.retry", "again in 5.0s"),
        ({"outcome": "snooze", "move": "snooze", "retry_in": 90.0}, "INFO", "job.snoozed", "for 1m30s"),
        ({"outcome": "interrupt", "move": "interrupt"}, "INFO", "job.interrupted", "from its checkpoint"),
        ({"outcome": "lose", "move": "lose", "state": "pending"}, "WARNING", "job.lost", "run again"),
        ({"outcome": "waiting", "move": "wait", "state": "waiting"}, "INFO", "job.waiting", "waits for its"),
        (
            {"outcome": "cancelled", "move": "stop", "state": "cancelled"},
            "INFO",
            "job.cancelled",
            "cancelled after",
        ),
    ],
)
def test_other_endings_print_their_own_event(
    heard: list[logging.LogRecord], facts: dict[str, Any], level: str, event: str, part: str
) -> None:
    lines.run_ended(ended(**facts))
    assert [(record.levelname, record.getMessage()) for record in heard] == [(level, event)]
    assert part in heard[0].__dict__[FIELDS]["text"]


def test_a_failure_that_is_tried_again_says_both(heard: list[logging.LogRecord]) -> None:
    lines.run_ended(ended(outcome="err", move="retry", state="pending", error="no", retry_in=5.0))
    assert [record.getMessage() for record in heard] == ["job.run", "job.retry"]


def test_a_spent_crash_budget_is_said(heard: list[logging.LogRecord]) -> None:
    lines.run_ended(ended(outcome="lose", move="crash", state="failed"))
    assert "budget is spent" in heard[-1].__dict__[FIELDS]["text"]


def test_only_short_good_runs_wait_for_others(heard: list[logging.LogRecord]) -> None:
    lines.run_ended(ended())
    lines.run_ended(ended(elapsed_ms=5000.0))
    lines.run_ended(ended(outcome="err", move="fail", error="no"))
    assert [record.__dict__[BATCH] for record in heard] == [True, False, False]


@pytest.mark.parametrize(
    ("event", "subscriber", "level", "name", "text"),
    [
        (
            events.TickSkipped("files.scan", 60_000, 90_000), lines.tick_skipped, "INFO", "job.tick_skipped",
            "job files.scan is still at work (1m30s): this one is skipped",
        ),
        (
            events.JobMoved(JOB, ":mail.send", "cancel", "cancelled", 0), lines.job_moved, "INFO", "job.cancelled",
            "job mail.send cancelled",
        ),
        (
            events.CancelRequested(JOB, "video:cut", "user"), lines.cancel_requested, "INFO", "job.cancel_requested",
            "job video:cut was asked to stop (user)",
        ),
        (
            events.WorkerLost(JOB, "worker-1", 3), lines.worker_lost, "WARNING", "worker.lost",
            "worker-1 stopped beating; 3 of its jobs were taken back",
        ),
        (
            events.SuspensionChanged("type", ":mail.send", True, "ann", "broken"), lines.suspension_changed, "WARNING",
            "suspension.opened", "type mail.send suspended by ann",
        ),
        (
            events.SuspensionChanged("all", "", False, "ann"), lines.suspension_changed, "WARNING",
            "suspension.lifted", "all resumed by ann",
        ),
    ],
)  # fmt: skip
def test_other_events(
    heard: list[logging.LogRecord], event: Any, subscriber: Any, level: str, name: str, text: str
) -> None:
    subscriber(event)
    assert [told(record) for record in heard] == [(level, name, text)]


def test_a_skipped_tick_has_its_fields(heard: list[logging.LogRecord]) -> None:
    lines.tick_skipped(events.TickSkipped("files.scan", 0, 90_000))
    fields = heard[0].__dict__[FIELDS]
    assert (fields["job"], fields["interval_ms"], fields["running_for_ms"]) == ("files.scan", 0, 90_000)


def test_moves_between_runs_that_say_nothing_new_are_quiet(heard: list[logging.LogRecord]) -> None:
    for move in ("claim", "start", "complete", "hand_back", "go_on"):
        lines.job_moved(events.JobMoved(JOB, ":a", move, "pending", 1))
    lines.job_submitted(events.JobSubmitted(JOB, ":a", "default", "created"))
    lines.run_started(events.RunStarted(JOB, "", "a", 1, 1, 100, 3.0))
    assert heard == []
