"""The job store, and what a job does."""

from __future__ import annotations

import os
from typing import Any
from urllib.parse import urlsplit

from apscheduler.jobstores.redis import RedisJobStore
from celery import Celery

from benchmarks.schedules.client import QUEUE

THREADS = 10

app = Celery("apscheduler", broker=os.environ["REDIS_URL"], backend=None)
app.conf.update(task_default_queue=QUEUE)


def send(number: int) -> None:
    """As the others: one message to the broker, by Celery."""
    app.send_task("bench.noop", (number,))


def options() -> dict[str, Any]:
    """Of a scheduler on the store."""
    url = urlsplit(os.environ["REDIS_URL"])
    return {
        "jobstores": {"default": RedisJobStore(host=url.hostname, port=url.port, password=url.password)},
        "executors": {"default": {"type": "threadpool", "max_workers": THREADS}},
        "job_defaults": {"misfire_grace_time": None, "coalesce": False},
        "timezone": "UTC",
    }
