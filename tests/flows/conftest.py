"""Flows: real PostgreSQL, Redis and worker processes. One database for the whole layer, which nobody flushes
while workers run; each test looks at its own jobs alone."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from django.db import connections

from tests import emptying
from tests.conftest import url_of
from tests.flows import flowapp  # noqa: F401
from tests.flows.processes import Worker

SETTINGS = {
    "APPS": "tests.flows.flowapp",
    "LOGS__FORMAT": "json",
    "TASKS__HEARTBEAT_SECONDS": "0.3",
    "TASKS__LEASE_SECONDS": "1.5",
    "TASKS__POLL_SECONDS": "0.3",
    "TASKS__RESEND_SECONDS": "1.5",
    "TASKS__CANCEL_GRACE_SECONDS": "1",
    "TASKS__BACKOFF_BASE_SECONDS": "0.05",
    "TASKS__RESERVED_HIGH_PRIORITY_SLOTS": "0",
    "TASKS__SHUTDOWN_GRACE_SECONDS": "20",
    "SCHEDULER__MAINTENANCE": "false",
}


@pytest.fixture(scope="package")
def flow_database(django_db_setup: None, django_db_blocker: Any) -> Iterator[str]:
    """The URL of the layer's database, emptied when the layer is through."""
    from tests.flows.flowapp import jobs  # noqa: F401  (the test process submits them)

    with django_db_blocker.unblock():
        yield url_of(connections["default"].settings_dict)
        emptying.empty("default")
        connections.close_all()


@pytest.fixture(autouse=True)
def db(flow_database: str, django_db_blocker: Any) -> Iterator[None]:
    """Let each test use the database, in transactions that commit.

    It has pytest-django's name, by which that plugin knows that a database is wanted, and replaces its fixture,
    which would hide every row from the processes.
    """
    with django_db_blocker.unblock():
        yield


@pytest.fixture(scope="package")
def environment(flow_database: str) -> dict[str, str]:
    """The environment of the processes under test: this database, this Redis, short times."""
    return {**os.environ, "DATABASE_URL": flow_database, **SETTINGS}


@pytest.fixture(scope="module")
def start_worker(
    environment: dict[str, str], tmp_path_factory: pytest.TempPathFactory
) -> Iterator[Callable[..., Worker]]:
    """Start a worker: ``start_worker("-c", "1", TASKS__POLL_SECONDS="5")``; it ends with the module."""
    workers: list[Worker] = []

    def start(*arguments: str, app: str = "jobsplatform", ready: bool = True, **settings: str) -> Worker:
        log = tmp_path_factory.mktemp("worker") / "log"
        worker = Worker(log, {**environment, **settings}, arguments, app)
        workers.append(worker)
        if ready:
            worker.wait_ready()
        return worker

    yield start
    for worker in workers:
        worker.kill()


@pytest.fixture
def path(tmp_path: Path) -> str:
    """Where a job notes its starts."""
    return str(tmp_path / "notes")
