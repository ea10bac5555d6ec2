"""Celery's own beat, driven by a clock that a test turns: its heap, its tick, its ``is_due``, and no sending."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest
from celery import Celery
from celery.beat import Scheduler
from django_celery_beat.tzcrontab import TzAwareCrontab

from scheduler import timetables
from scheduler.export import PlannedSchedule
from scheduler.hint_times import hint_times

MINUTE = timedelta(seconds=60)


class TurnedClock:
    """The one clock of a driven beat."""

    def __init__(self, start: datetime) -> None:
        self.at = start

    def now(self, *_: Any) -> datetime:
        return self.at


class DrivenBeat(Scheduler):
    """Notes what stock Beat would send, and when."""

    def __init__(self, clock: TurnedClock, schedules: Mapping[str, Any]) -> None:
        self.clock = clock
        self.hints: dict[str, list[datetime]] = defaultdict(list)
        super().__init__(Celery("stock", set_as_current=False), max_interval=300)
        self.data = {
            name: self.Entry(name=name, task="t", schedule=schedule, last_run_at=clock.at, app=self.app)
            for name, schedule in schedules.items()
        }

    @property
    def producer(self) -> None:  # type: ignore[override]
        return None

    def install_default_entries(self, data: Any) -> None:
        return None

    def schedules_equal(self, old_schedules: Any, new_schedules: Any) -> bool:
        """Nobody edits them here; comparing them all at each tick is most of what stock Beat does."""
        return old_schedules is not None

    def apply_entry(self, entry: Any, producer: Any = None) -> None:
        self.hints[entry.name].append(self.clock.at)

    def run(self, until: datetime) -> dict[str, list[datetime]]:
        """Tick as the beat program does: sleep as long as the last tick said."""
        while self.clock.at < until:
            pause = self.tick()
            self.clock.at += timedelta(seconds=max(pause or 0.0, 0.001))
        return self.hints


Rule = tuple[str, dict[str, Any], str]


def planned(clock: TurnedClock, rules: Mapping[str, Rule]) -> dict[str, Any]:
    """The entries that we export for a ``beat_schedule``."""
    return {
        name: PlannedSchedule(kind, config, zone, name, nowfun=clock.now)
        for name, (kind, config, zone) in rules.items()
    }


def rows(clock: TurnedClock, rules: Mapping[str, Rule], monkeypatch: pytest.MonkeyPatch) -> dict[str, Any]:
    """What ``django-celery-beat`` makes of the rows that we export."""
    monkeypatch.setattr(TzAwareCrontab, "nowfunc", clock.now)
    found = {}
    for name, (kind, config, zone) in rules.items():
        times = hint_times(kind, config, zone, clock.at, name)
        assert times is not None
        found[name] = TzAwareCrontab(minute=times.minute_field, hour=times.hour_field, tz=UTC)
    return found


def slots(rule: Rule, name: str, after: datetime, until: datetime) -> list[datetime]:
    """The calendar: every slot in (after, until]."""
    kind, config, zone = rule
    timetable = timetables.build(kind, config, zone, schedule_id=name)
    found = []
    at = timetable.next(after)
    while at is not None and at <= until:
        found.append(at)
        at = timetable.next(at)
    return found


def lacking(planned_at: list[datetime], hints: list[datetime]) -> list[datetime]:
    """The slots that no hint follows within a minute (and a tenth of a second, for the ticks of the beat)."""
    return [
        slot
        for slot in planned_at
        if not any(slot <= hint <= slot + MINUTE + timedelta(seconds=0.1) for hint in hints)
    ]
