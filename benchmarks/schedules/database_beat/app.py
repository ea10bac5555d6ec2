"""The Celery app of the project."""

from __future__ import annotations

import os

from celery import Celery

from benchmarks.schedules.client import QUEUE

os.environ.setdefault("DJANGO_SETTINGS_MODULE", "benchmarks.schedules.database_beat.settings")

app = Celery("database_beat", broker=os.environ["REDIS_URL"], backend=None)
app.conf.update(task_default_queue=QUEUE, broker_connection_retry_on_startup=True)
