"""A worker that cannot start says why in one line, and its exit code is not 0."""

from __future__ import annotations

import socket
from collections.abc import Callable

import psycopg
import pytest

from tests.flows.processes import Worker

pytestmark = pytest.mark.flow


def closed_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])


def last_words(worker: Worker) -> str:
    assert "Traceback" not in worker.output
    return worker.output


def test_wrong_settings(start_worker: Callable[..., Worker]) -> None:
    worker = start_worker(ready=False, TASKS__LEASE_SECONDS="soon", TASKS__BATHC="1")
    assert worker.exit_code() == 2
    assert "TASKS__LEASE_SECONDS" in last_words(worker)
    assert "TASKS__BATCH" in last_words(worker)


def test_the_database_is_away(start_worker: Callable[..., Worker]) -> None:
    url = f"postgresql://user:hush@127.0.0.1:{closed_port()}/none"
    worker = start_worker(ready=False, DATABASE_URL=url)
    assert worker.exit_code() == 3
    assert "does not answer" in last_words(worker)
    assert "hush" not in worker.output


def test_a_missing_migration(start_worker: Callable[..., Worker], environment: dict[str, str]) -> None:
    name = "jp_not_migrated"
    with psycopg.connect(environment["DATABASE_URL"], autocommit=True) as session:
        session.execute(f"DROP DATABASE IF EXISTS {name}")
        session.execute(f"CREATE DATABASE {name}")
        try:
            before, _, query = environment["DATABASE_URL"].partition("?")
            url = f"{before.rpartition('/')[0]}/{name}{'?' if query else ''}{query}"
            worker = start_worker(ready=False, DATABASE_URL=url)
            assert worker.exit_code() == 2
            assert "Run manage.py migrate" in last_words(worker)
        finally:
            session.execute(f"DROP DATABASE IF EXISTS {name} WITH (FORCE)")


def test_redis_is_refused(start_worker: Callable[..., Worker]) -> None:
    worker = start_worker(ready=False, REDIS_URL=f"redis://:hush@127.0.0.1:{closed_port()}/0")
    assert worker.exit_code() == 3
    assert "does not answer" in last_words(worker)
    assert "hush" not in worker.output
