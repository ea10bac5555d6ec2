"""A web process is a row while it lives."""

import asyncio
from typing import Any

import pytest
from django.db import DatabaseError

from jobsplatform import asgi
from jobsplatform.kernel import clock, config, processes
from jobsplatform.kernel.loop import wait_until
from jobsplatform.kernel.models import Process
from jobsplatform.kernel.presence import Presence

pytestmark = pytest.mark.django_db(transaction=True)


def only_row() -> Process | None:
    return Process.objects.first()


def test_it_registers_beats_and_says_goodbye() -> None:
    with config.override(tasks={"heartbeat_seconds": 0.01}):
        presence = Presence("web")
        presence.start()
        first = wait_until(only_row, timeout=10)
        wait_until(lambda: Process.objects.get().heartbeat_at > first.heartbeat_at, timeout=10)
        assert presence.stop()
    row = Process.objects.get()
    assert (row.role, row.pk) == ("web", presence.process_id)
    assert row.stopped_at is not None


def test_declared_lost_it_comes_back_as_another_incarnation() -> None:
    presence = Presence("web")
    presence.step()
    first = presence.process_id
    assert first is not None
    now = clock.now()
    assert processes.declare_lost(first, now, silent_since=now)
    presence.step()
    assert presence.process_id != first
    assert Process.objects.count() == 2


def test_a_database_that_is_away_at_the_end_is_no_error(monkeypatch: pytest.MonkeyPatch) -> None:
    presence = Presence("web")
    presence.step()

    def away(*_: object) -> None:
        raise DatabaseError("away")

    monkeypatch.setattr(processes, "stop", away)
    presence.stop()
    presence.run()
    assert Process.objects.get().stopped_at is None


def test_the_web_server_starts_and_ends_it() -> None:
    async def serve() -> list[str]:
        told: list[str] = []
        messages: asyncio.Queue[dict[str, Any]] = asyncio.Queue()

        async def send(message: dict[str, Any]) -> None:
            told.append(message["type"])

        await messages.put({"type": "lifespan.startup"})
        server = asyncio.create_task(asgi.application({"type": "lifespan"}, messages.get, send))
        await asyncio.to_thread(wait_until, _row_and_close, 10)
        await messages.put({"type": "lifespan.shutdown"})
        await server
        return told

    assert asyncio.run(serve()) == ["lifespan.startup.complete", "lifespan.shutdown.complete"]
    row = Process.objects.get()
    assert row.role == "web"
    assert row.stopped_at is not None


def _row_and_close() -> bool:
    try:
        return Process.objects.exists()
    finally:
        asgi.close_request_connections()
