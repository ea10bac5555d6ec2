"""Celery beat as it comes: ``beat_schedule`` with crontab entries."""

from __future__ import annotations

from benchmarks.systems.base import System, python


class CeleryBeat(System):
    name = "celery beat"
    schema = "celery_beat"
    client = "benchmarks.schedules.beat.client"
    needs = ("celery",)
    settings = (
        "PersistentScheduler, crontab entries in beat_schedule, their clock shifted so that a minute begins at the "
        "due instant"
    )
    database = False

    def workers(self) -> list[list[str]]:
        return [python("celery", "-A", "benchmarks.schedules.beat.app", "--quiet", "beat")]
