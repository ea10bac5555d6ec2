"""The web entry: ``uvicorn jobsplatform.asgi:application``."""

from __future__ import annotations

import asyncio
import os
from collections.abc import Awaitable, Callable
from typing import Any

from django.core.asgi import get_asgi_application
from django.core.signals import request_finished
from django.db import connections

os.environ.setdefault("DJANGO_SETTINGS_MODULE", "jobsplatform.settings")
_django = get_asgi_application()

# Rows can only be imported once Django is set up.
from jobsplatform import live_totals  # noqa: E402
from jobsplatform.kernel.presence import STOP_SECONDS, Presence  # noqa: E402
from tasks.bus import crew  # noqa: E402
from tasks.bus import server as bus  # noqa: E402
from tasks.live import hub, routing  # noqa: E402

Receive = Callable[[], Awaitable[dict[str, Any]]]
Send = Callable[[Any], Awaitable[None]]


def close_request_connections(**_: Any) -> None:
    """Close this request's database connections: under ASGI each request has a thread of its own, so a
    connection kept open could never be used again. One in a transaction is a test's, around the request."""
    for connection in connections.all(initialized_only=True):
        if not connection.in_atomic_block:
            connection.close()


async def application(scope: dict[str, Any], receive: Receive, send: Send) -> None:
    """Requests go to Django, WebSockets to the live feed; the server's start and end are the process's."""
    if scope["type"] == "lifespan":
        await lifespan(receive, send)
    elif scope["type"] == "websocket":
        await routing.application(scope, receive, send)
    elif bus.takes(scope):
        await bus.serve(scope, receive, send)
    else:
        await _django(scope, receive, send)


async def lifespan(receive: Receive, send: Send) -> None:
    """Be present in the database from the server's start to its end. The database may be away at both."""
    presence, totals = Presence("web", tells=live_totals.of_process), live_totals.LiveTotals()
    while True:
        message = await receive()
        if message["type"] == "lifespan.startup":
            presence.start()
            totals.start()
            await send({"type": "lifespan.startup.complete"})
        elif message["type"] == "lifespan.shutdown":
            await hub.stop()
            await asyncio.to_thread(totals.stop, STOP_SECONDS)
            await asyncio.to_thread(crew.end)
            await asyncio.to_thread(presence.stop, STOP_SECONDS)
            await send({"type": "lifespan.shutdown.complete"})
            return


request_finished.connect(close_request_connections)
