"""Job rows as a worker finds them when a run has just begun, and somebody else who holds some."""

import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

from django.db import connections, transaction

from jobsplatform.kernel import clock
from jobsplatform.kernel.ids import uuid7
from tasks.models import Job
from tasks.states import State


def running_job(**columns: Any) -> Job:
    """A job under its first lease, started now."""
    now = clock.now()
    values: dict[str, Any] = {
        "job_type": "tests.one",
        "handler_key": ":tests.one",
        "state": State.RUNNING,
        "lease": 1,
        "attempt": 1,
        "worker_id": uuid7(),
        "created_at": now,
        "updated_at": now,
        "due_at": now,
        "started_at": now,
        "first_started_at": now,
    }
    return Job.objects.create(**{**values, **columns})


@contextmanager
def held_elsewhere(lock: Callable[[], object], seconds: float = 30.0) -> Iterator[None]:
    """``lock`` is done in a transaction of another connection, which stays open until the block ends, and no longer
    than so many seconds."""
    locked, done = threading.Event(), threading.Event()

    def hold() -> None:
        with transaction.atomic():
            lock()
            locked.set()
            done.wait(seconds)
        connections.close_all()

    holder = threading.Thread(target=hold)
    holder.start()
    try:
        assert locked.wait(10)
        yield
    finally:
        done.set()
        holder.join()
