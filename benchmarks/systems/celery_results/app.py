"""The Celery app of the project and its tasks."""

from __future__ import annotations

import os

from celery import Celery

from benchmarks import handlers

os.environ.setdefault("DJANGO_SETTINGS_MODULE", "benchmarks.systems.celery_results.settings")

KEEP_CONNECTIONS = 1_000_000_000
"""Without it Celery closes the database connection round every task."""

app = Celery("results", broker=os.environ["REDIS_URL"])
if os.environ.get("BENCH_RESULTS") == "on":
    app.conf.result_backend = "django-db"
else:
    app.conf.task_ignore_result = True
app.conf.broker_connection_retry_on_startup = True
app.conf["CELERY_DB_REUSE_MAX"] = KEEP_CONNECTIONS

for _kind in ("noop", "short", "busy", "stamp"):
    app.task(getattr(handlers, _kind), name=f"bench.{_kind}")
