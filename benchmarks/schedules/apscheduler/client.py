"""Puts jobs into the store. A running scheduler in another process does not learn of edits there."""

from __future__ import annotations

from datetime import UTC, datetime

from apscheduler.schedulers.background import BackgroundScheduler

from benchmarks.schedules.apscheduler.store import options, send
from benchmarks.schedules.client import ScheduleClient


class StoreClient(ScheduleClient):
    def arm(self, count: int, at: float, period: int) -> None:
        scheduler = BackgroundScheduler(**options())
        scheduler.start(paused=True)
        first = datetime.fromtimestamp(at, UTC)
        for n in range(count):
            scheduler.add_job(send, "interval", args=(n,), id=f"bench-{n}", seconds=period, start_date=first)
        scheduler.shutdown(wait=False)


def make() -> StoreClient:
    return StoreClient()
