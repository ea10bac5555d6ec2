"""Stores entries of redbeat, and edits them by its own class."""

from __future__ import annotations

import time
from datetime import UTC, datetime, timedelta
from typing import Any

from benchmarks.schedules.client import DAY, ScheduleClient
from benchmarks.schedules.redbeat.app import app


class KeysClient(ScheduleClient):
    def arm(self, count: int, at: float, period: int) -> None:
        from celery.schedules import schedule
        from redbeat import RedBeatSchedulerEntry

        every = schedule(timedelta(seconds=period), app=app)
        last = datetime.fromtimestamp(at - period, UTC)
        for n in range(count):
            entry = RedBeatSchedulerEntry(f"bench-{n}", "bench.noop", every, args=[n], app=app)
            entry.last_run_at = last
            entry.save()

    def edit(self, number: int) -> float:
        from celery.schedules import schedule
        from redbeat import RedBeatSchedulerEntry

        entry: Any = RedBeatSchedulerEntry.from_key(f"redbeat:bench-{number}", app=app)
        entry.schedule = schedule(timedelta(seconds=DAY), app=app)
        entry.save()
        entry.reschedule(datetime.now(UTC) - timedelta(days=2))
        return time.time()


def make() -> KeysClient:
    return KeysClient()
