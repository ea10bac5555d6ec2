"""Rows of django-celery-beat that are not ours: claimed in the database, sent once."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from typing import Any

import pytest
from django_celery_beat.models import CrontabSchedule, IntervalSchedule, PeriodicTask

from jobsplatform.celery import app
from jobsplatform.kernel import clock
from scheduler.bridge import TASK_NAME
from scheduler.foreign import RowScheduler


class Sent:
    """What a scheduler would send."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        self.names: list[str] = []
        monkeypatch.setattr(RowScheduler, "producer", None)
        monkeypatch.setattr(RowScheduler, "apply_async", self._note)

    def _note(self, entry: Any, **options: Any) -> None:
        self.names.append(entry.name)


@pytest.fixture
def sent(monkeypatch: pytest.MonkeyPatch) -> Sent:
    return Sent(monkeypatch)


def every_minute(name: str, **fields: Any) -> PeriodicTask:
    interval, _ = IntervalSchedule.objects.get_or_create(every=60, period="seconds")
    given = {"task": "their.task", "interval": interval, "last_run_at": datetime(2020, 1, 1, tzinfo=UTC)}
    return PeriodicTask.objects.create(name=name, **{**given, **fields})


def run(*schedulers: RowScheduler) -> None:
    """Tick each in turn until none has anything due."""
    while any([scheduler.tick() == 0 for scheduler in schedulers]):
        pass


def test_several_beats_send_a_row_once(transactional_db: None, sent: Sent) -> None:
    for name in "abc":
        every_minute(name)
    beats = [RowScheduler(app) for _ in range(3)]
    run(*beats)
    assert sorted(sent.names) == ["a", "b", "c"]
    assert set(PeriodicTask.objects.values_list("total_run_count", flat=True)) == {1}


def test_ours_are_never_ticked(transactional_db: None, sent: Sent) -> None:
    every_minute("jobsplatform: ours", task=TASK_NAME)
    every_minute("theirs")
    run(RowScheduler(app))
    assert sent.names == ["theirs"]


def test_a_disabled_row_is_not_sent(transactional_db: None, sent: Sent) -> None:
    every_minute("off")
    beat = RowScheduler(app)
    _ = beat.schedule
    PeriodicTask.objects.update(enabled=False)
    run(beat)
    assert sent.names == []


def test_one_off_rows_run_once(transactional_db: None, sent: Sent) -> None:
    every_minute("once", one_off=True)
    first, second = RowScheduler(app), RowScheduler(app)
    run(first, second)
    PeriodicTask.objects.update(last_run_at=datetime(2020, 1, 1, tzinfo=UTC))
    first.read_again()
    run(first, second)
    assert sent.names == ["once"]


def test_a_row_is_seen_whatever_hour_it_names(transactional_db: None, sent: Sent) -> None:
    """Upstream leaves out rows whose hour is not near: a run that was due in an outage is lost."""
    far = (clock.now() + timedelta(hours=8)).hour
    crontab = CrontabSchedule.objects.create(minute="0", hour=str(far))
    every_minute("missed", interval=None, crontab=crontab)
    run(RowScheduler(app))
    assert sent.names == ["missed"]


def test_the_first_row_ever_is_seen_by_a_beat_that_runs(transactional_db: None, sent: Sent) -> None:
    beat = RowScheduler(app)
    run(beat)
    every_minute("new")
    run(beat)
    assert sent.names == ["new"]


def test_their_beat_schedule_becomes_rows_and_ours_does_not(
    transactional_db: None, sent: Sent, monkeypatch: pytest.MonkeyPatch
) -> None:
    entries = {
        "theirs": {"task": "their.task", "schedule": 60.0},
        "jobsplatform: ours": {"task": TASK_NAME, "schedule": 60.0},
    }
    monkeypatch.setitem(app.conf, "beat_schedule", entries)
    RowScheduler(app)
    assert list(PeriodicTask.objects.values_list("name", flat=True)) == ["theirs"]
