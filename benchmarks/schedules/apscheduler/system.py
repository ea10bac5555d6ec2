"""APScheduler 3 on the same Valkey."""

from __future__ import annotations

from benchmarks.systems.base import System, python


class APScheduler(System):
    name = "apscheduler"
    schema = "apscheduler"
    client = "benchmarks.schedules.apscheduler.client"
    needs = ("apscheduler", "celery", "redis")
    settings = (
        "3.x, RedisJobStore, BlockingScheduler, 10 threads, misfire_grace_time without limit, interval jobs that "
        "send a Celery message"
    )
    database = False

    def workers(self) -> list[list[str]]:
        return [python("benchmarks.schedules.apscheduler")]
