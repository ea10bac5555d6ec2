"""Rows of ``django-celery-beat``, for those who run its scheduler: hints for our schedules, by plain cron in UTC."""

from __future__ import annotations

import json
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from django.db import transaction
from django.db.models import Count, Max, Sum
from django_celery_beat.models import CrontabSchedule, PeriodicTask, PeriodicTasks

from scheduler.bridge import TASK_NAME
from scheduler.export import PREFIX, entry_kwargs, entry_name, exported
from scheduler.hint_times import HintTimes, hint_times
from scheduler.models import Pause, Schedule
from scheduler.states import PauseScope

EXPIRE_SECONDS = 60
"""A hint that nobody took for so long tells nothing new."""

ABOUT = "Hints for a schedule of JobsPlatform. Edit it there: this row is written by the export."


@dataclass
class ExportResult:
    """What an export changed, by name."""

    created: list[str]
    updated: list[str]
    removed: list[str]
    unchanged: int = 0


def export_rows(now: datetime) -> ExportResult:
    """Make the rows agree with the schedules; a second time nothing changes, and no counter starts anew.

    Rows of schedules that were archived, deleted or paused go away. Rows of others are never touched.
    """
    result = ExportResult([], [], [])
    with transaction.atomic():
        there = {row.name: row for row in ours().select_related("crontab").select_for_update(of=("self",))}
        crontabs: dict[HintTimes, CrontabSchedule] = {}
        for schedule in exported():
            times = hint_times(
                schedule.trigger_type, schedule.trigger_config, schedule.timezone, now, schedule.pk
            )
            if times is None:
                continue
            name = entry_name(schedule.pk)
            if times not in crontabs:
                crontabs[times] = _crontab(times)
            _store(there.pop(name, None), name, schedule, crontabs[times], result)
        for name, row in there.items():
            row.delete()
            result.removed.append(name)
    if result.created or result.updated or result.removed:
        PeriodicTasks.update_changed()
    return result


def ours() -> Any:
    """The rows that an export wrote."""
    return PeriodicTask.objects.filter(task=TASK_NAME, name__startswith=PREFIX)


def _crontab(times: HintTimes) -> CrontabSchedule:
    wanted = {
        "minute": times.minute_field,
        "hour": times.hour_field,
        "day_of_week": "*",
        "day_of_month": "*",
        "month_of_year": "*",
        "timezone": "UTC",
    }
    # Nothing keeps equal rows from being there several times.
    return CrontabSchedule.objects.filter(**wanted).order_by("pk").first() or CrontabSchedule.objects.create(
        **wanted
    )


def _store(
    row: PeriodicTask | None, name: str, schedule: Schedule, crontab: CrontabSchedule, result: ExportResult
) -> None:
    wanted = {
        "crontab_id": crontab.pk,
        "interval_id": None,
        "solar_id": None,
        "clocked_id": None,
        "one_off": False,
        "enabled": True,
        "kwargs": json.dumps(entry_kwargs(schedule.pk), ensure_ascii=False),
        "expire_seconds": EXPIRE_SECONDS,
        "description": ABOUT,
    }
    if row is None:
        PeriodicTask.objects.create(name=name, task=TASK_NAME, **wanted)
        result.created.append(name)
    elif any(getattr(row, field) != value for field, value in wanted.items()):
        for field, value in wanted.items():
            setattr(row, field, value)
        row.save()
        result.updated.append(name)
    else:
        result.unchanged += 1


class Follower:
    """Keeps the rows in step with the schedules, where they were exported once."""

    def __init__(self) -> None:
        self._seen: object = None

    def follow(self, now: datetime) -> bool:
        """Export again when a schedule or a pause has changed since the last time. False: there is never more."""
        if not ours().exists():
            self._seen = None
            return False
        state = _state_of_schedules()
        if state != self._seen:
            export_rows(now)
            self._seen = state
        return False


def _state_of_schedules() -> object:
    """Differs when a schedule or a pause was changed; those by SQL once the planner has taken them up."""
    schedules = Schedule.objects.aggregate(at=Max("updated_at"), revision=Sum("revision"), count=Count("pk"))
    pauses = Pause.objects.filter(scope=PauseScope.SCHEDULE, lifted_at=None)
    return schedules, pauses.aggregate(last=Max("pk"), count=Count("pk"))
