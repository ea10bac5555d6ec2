"""The Celery app and its tasks."""

from __future__ import annotations

import os

from celery import Celery

from benchmarks import handlers

app = Celery("plain", broker=os.environ["REDIS_URL"], backend=None)
app.conf.update(task_ignore_result=True, broker_connection_retry_on_startup=True)

for _kind in ("noop", "short", "busy", "stamp"):
    app.task(getattr(handlers, _kind), name=f"bench.{_kind}")
