"""The Celery app."""

from __future__ import annotations

import os

from celery import Celery

from benchmarks.schedules.client import QUEUE
from benchmarks.schedules.redbeat.app_settings import LOOP_SECONDS

app = Celery("redbeat", broker=os.environ["REDIS_URL"], backend=None)
app.conf.update(
    task_default_queue=QUEUE,
    broker_connection_retry_on_startup=True,
    redbeat_redis_url=os.environ["REDIS_URL"],
    beat_max_loop_interval=LOOP_SECONDS,
)
