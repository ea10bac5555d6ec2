"""The Celery app; its ``beat_schedule`` is made of what the client has left in a file."""

from __future__ import annotations

import os
from datetime import UTC, datetime, timedelta
from typing import Any

from celery import Celery
from celery.schedules import crontab

from benchmarks.schedules.beat.plan import read
from benchmarks.schedules.client import QUEUE

PLAN = read()

app = Celery("beats", broker=os.environ["REDIS_URL"], backend=None)


def shifted() -> datetime:
    """A clock whose minute begins at the due instant: a run need not wait for that of the machine."""
    return datetime.now(UTC) - timedelta(seconds=PLAN.at % 60)


def entries() -> dict[str, Any]:
    """Crontab entries of every minute, or of a time of day that is hours away."""
    line: dict[str, Any] = {"nowfun": shifted}
    if PLAN.is_far:
        line |= {"minute": "0", "hour": str((datetime.now(UTC) + timedelta(hours=12)).hour)}
    return {
        f"bench-{n}": {"task": "bench.noop", "schedule": crontab(**line), "args": (n,)}
        for n in range(PLAN.count)
    }


app.conf.update(
    task_default_queue=QUEUE,
    broker_connection_retry_on_startup=True,
    beat_schedule=entries(),
    beat_schedule_filename=os.path.join(os.environ["BENCH_FOLDER"], "beat"),
)
