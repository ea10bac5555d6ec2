"""A worker that has done many jobs is no larger than one that has done some."""

from __future__ import annotations

from collections.abc import Callable

import psutil
import pytest
from django.db import connection

from tasks.models import Job
from tasks.requests import JobRequest
from tasks.states import State
from tasks.submit import submit_many
from tests.flows.processes import Worker, until

pytestmark = pytest.mark.flow

WARM, MORE = 40, 160
MEGABYTES = 15


def run_many(count: int) -> None:
    done = submit_many([JobRequest("flow.add", {"a": n, "b": 0}) for n in range(count)])
    ids = [result.id for result in done]
    until(lambda: Job.objects.filter(id__in=ids, state=State.COMPLETED).count() == count, seconds=60)


def sizes(worker: Worker) -> tuple[float, int, int]:
    """Megabytes, open files, database sessions of the worker with its children."""
    family = [psutil.Process(worker.pid), *worker.children]
    with connection.cursor() as cursor:
        cursor.execute("SELECT count(*) FROM pg_stat_activity WHERE datname = current_database()")
        sessions = cursor.fetchone()[0]
    return sum(p.memory_info().rss for p in family) / 2**20, sum(p.num_fds() for p in family), sessions


def test_memory_files_and_sessions_stay(start_worker: Callable[..., Worker]) -> None:
    worker = start_worker("-c", "2")
    run_many(WARM)
    memory, files, sessions = sizes(worker)
    run_many(MORE)
    memory_after, files_after, sessions_after = sizes(worker)
    assert memory_after - memory < MEGABYTES
    assert files_after <= files + 2
    assert sessions_after <= sessions + 1
