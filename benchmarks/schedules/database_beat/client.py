"""Stores rows of django-celery-beat, and edits them by its models as its admin does."""

from __future__ import annotations

import time
from datetime import UTC, datetime, timedelta
from typing import Any

import django

from benchmarks.schedules.client import DAY, ScheduleClient
from benchmarks.schedules.database_beat.app import app

django.setup()

BATCH = 1_000


class RowsClient(ScheduleClient):
    def prepare(self) -> None:
        from django.core.management import call_command

        call_command("migrate", verbosity=0, interactive=False)

    def arm(self, count: int, at: float, period: int) -> None:
        from django_celery_beat.models import PeriodicTask, PeriodicTasks

        last = datetime.fromtimestamp(at - period, UTC)
        interval = self._interval(period)
        rows = [
            PeriodicTask(
                name=f"bench-{n}", task="bench.noop", interval=interval, args=f"[{n}]", last_run_at=last
            )
            for n in range(count)
        ]
        PeriodicTask.objects.bulk_create(rows, batch_size=BATCH)
        PeriodicTasks.update_changed()

    def edit(self, number: int) -> float:
        from django_celery_beat.models import PeriodicTask

        row = PeriodicTask.objects.get(name=f"bench-{number}")
        row.interval = self._interval(DAY)
        row.last_run_at = datetime.now(UTC) - timedelta(days=2)
        row.save()
        return time.time()

    def _interval(self, seconds: int) -> Any:
        from django_celery_beat.models import IntervalSchedule

        return IntervalSchedule.objects.get_or_create(every=seconds, period=IntervalSchedule.SECONDS)[0]


def make() -> RowsClient:
    assert app is not None
    return RowsClient()
