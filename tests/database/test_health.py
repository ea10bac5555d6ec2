"""The health pages: what they answer, what they ask, and what they keep to themselves."""

from collections.abc import Iterator
from datetime import timedelta
from typing import Any

import pytest
from django.db import DatabaseError, connection
from django.test import Client
from django.test.utils import CaptureQueriesContext

from jobsplatform.health import probes
from jobsplatform.kernel import clock, config, processes

pytestmark = pytest.mark.django_db
TOKEN = "a-token-of-the-operators"


@pytest.fixture(autouse=True)
def memory_broker() -> Iterator[None]:
    with config.override(celery_broker_url="memory://", health_token=""):
        yield


def ready(**headers: str) -> tuple[int, dict[str, Any]]:
    answer = Client().get("/health/ready", headers=headers)
    return answer.status_code, answer.json()


def test_live_asks_nobody() -> None:
    with CaptureQueriesContext(connection) as queries:
        answer = Client().get("/health/live")
    assert (answer.status_code, answer.json()) == (200, {"ok": True})
    assert len(queries) == 0


def test_ready_when_everything_is_there() -> None:
    processes.register("worker", name="w", now=clock.now())
    status, parts = ready()
    assert status == 200 and parts.pop("ok") is True
    assert set(parts) == {"database", "broker", "migrations", "workers", "schedules"}
    assert all(part["ok"] for part in parts.values())


def test_without_a_live_worker_it_is_not_ready() -> None:
    lease = config.get().tasks.lease_seconds
    processes.register("worker", name="silent", now=clock.now() - timedelta(seconds=lease + 60))
    processes.register("web", name="web", now=clock.now())
    status, parts = ready()
    assert status == 503 and parts["ok"] is False
    assert parts["workers"] == {"ok": False, "status": "none alive: start a worker"}
    assert parts["database"]["ok"] is True


def test_the_sync_provider_needs_neither_worker_nor_broker() -> None:
    with config.override(tasks={"provider": "sync"}):
        assert ready()[0] == 200


def test_a_broker_that_is_away() -> None:
    with config.override(celery_broker_url="redis://:hunter2hunter2@127.0.0.1:1/0"):
        status, parts = ready()
    assert status == 503 and parts["broker"] == {"ok": False, "status": "does not answer"}


def test_a_real_broker_answers(redis_url: str) -> None:
    with config.override(celery_broker_url=redis_url):
        assert probes.broker() == probes.Part("broker", True, "answers")


def test_a_database_that_is_away(monkeypatch: pytest.MonkeyPatch) -> None:
    def away(*_: object) -> None:
        raise DatabaseError(
            "connection to host db.internal failed: password authentication failed for hunter2"
        )

    monkeypatch.setattr(probes.connection, "cursor", away)
    monkeypatch.setattr(probes.connection, "close", lambda: None)
    status, parts = ready()
    assert status == 503
    assert parts["database"] == {"ok": False, "status": "does not answer"}
    assert parts["workers"]["status"] == "unknown: the database is away"


def test_missing_migrations_are_counted(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(probes, "_applied_once", False)
    monkeypatch.setattr(probes.MigrationExecutor, "migration_plan", lambda *_: [object(), object()])
    assert probes.migrations().told == "2 not applied: run manage.py migrate"
    monkeypatch.undo()
    monkeypatch.setattr(probes, "_applied_once", False)
    assert probes.migrations().ok


def test_details_are_for_the_bearer_of_the_token(monkeypatch: pytest.MonkeyPatch) -> None:
    with config.override(health_token=TOKEN, celery_broker_url="redis://127.0.0.1:1/0"):
        assert "detail" not in ready()[1]["broker"]
        assert "detail" not in ready(Authorization="Bearer wrong")[1]["broker"]
        assert "detail" in ready(Authorization=f"Bearer {TOKEN}")[1]["broker"]


@pytest.mark.parametrize(
    ("url", "address"),
    [
        ("redis://h:6379/1", "redis://h:6379/1"),
        ("redis+socket:///run/r.sock?virtual_host=2", "unix:///run/r.sock?db=2"),
    ],
)
def test_celerys_spelling_of_a_socket(url: str, address: str) -> None:
    assert probes.redis_address(url) == address


@pytest.mark.parametrize("address", ["/health/live", "/health/ready", "/metrics"])
def test_only_reading(address: str) -> None:
    assert Client().post(address).status_code == 405
    assert "no-store" in Client().get(address)["Cache-Control"]
