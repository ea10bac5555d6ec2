"""The bus right behind the web server: its own few threads, each of which keeps its database connection.

Behind Django's handler each request has a thread, and so a connection, of its own, and passes through what pages
need. ``in_front_of`` takes the methods out of that way; what is answered is the same.
"""

from __future__ import annotations

import asyncio
import io
from collections import Counter
from collections.abc import Awaitable, Callable, MutableMapping
from contextlib import suppress
from typing import Any

from django.core.handlers.asgi import ASGIRequest
from django.http import HttpResponse

from jobsplatform.kernel import clock, context, db
from jobsplatform.kernel.login import address_of
from jobsplatform.kernel.middleware import REQUEST_ID_HEADER, request_facts
from tasks.bus import api, door
from tasks.bus.auth import authenticate
from tasks.bus.calls import ADDRESS, NotYet
from tasks.bus.crew import crew
from tasks.bus.errors import Refusal, rate_limited, refusal_of
from tasks.bus.waiting import bell, look_seconds

Scope = MutableMapping[str, Any]
Receive = Callable[[], Awaitable[MutableMapping[str, Any]]]
Send = Callable[[MutableMapping[str, Any]], Awaitable[None]]
Application = Callable[[Scope, Receive, Send], Awaitable[None]]

SMALL_BYTES = 65_536
"""A body that says it is no larger is read before anybody asks who sends it."""

MOST_WAITING = 500
"""So many calls of one app wait in one process at once."""

BODY_SECONDS = 60.0
"""How long a body may take to come."""


_waiting: Counter[str] = Counter()
"""How many calls of each app wait; only the event loop touches it."""


class Gone(Exception):
    """The client has gone away."""


def in_front_of(application: Application) -> Application:
    """An ASGI application that answers the methods of the bus by itself, and leaves all else to ``application``."""

    async def bus_first(scope: Scope, receive: Receive, send: Send) -> None:
        if takes(scope):
            await serve(scope, receive, send)
        else:
            await application(scope, receive, send)

    return bus_first


def takes(scope: Scope) -> bool:
    """Is it a call of a method at the usual address?"""
    return bool(
        scope["type"] == "http"
        and scope["method"] == "POST"
        and scope["path"].startswith(ADDRESS)
        and not scope.get("root_path")
    )


async def serve(scope: Scope, receive: Receive, send: Send) -> None:
    """Answer one call."""
    request = ASGIRequest(scope, io.BytesIO())
    with context.fresh(**request_facts(request)) as facts:
        try:
            response = await _respond(request, receive)
        except Gone:
            return
        response[REQUEST_ID_HEADER] = facts.request_id
        response["X-Content-Type-Options"] = "nosniff"
    headers = [(name.lower().encode("latin-1"), value.encode("latin-1")) for name, value in response.items()]
    headers.append((b"content-length", str(len(response.content)).encode()))
    await send({"type": "http.response.start", "status": response.status_code, "headers": headers})
    await send({"type": "http.response.body", "body": response.content})


async def _respond(request: ASGIRequest, receive: Receive) -> HttpResponse:
    name = request.path.removeprefix(ADDRESS)
    try:
        async with asyncio.timeout(BODY_SECONDS):
            raw = await _read(request, receive)
    except TimeoutError:
        refusal = Refusal("MALFORMED_JSON", f"The body did not come within {BODY_SECONDS:g} s.")
        return api.answer(refusal.body, refusal.status, refusal.headers)
    except Refusal as refusal:
        return api.answer(refusal.body, refusal.status, refusal.headers)
    request._stream = io.BytesIO(raw)
    begun = clock.monotonic()
    outcome = await crew().do(_attempt, request, name)
    if isinstance(outcome, HttpResponse):
        return outcome
    app_id = request.bus_call.app_id
    if _waiting[app_id] >= MOST_WAITING:
        full = rate_limited("calls that wait at once", 1)
        return api.answer(full.body, full.status, full.headers)
    _waiting[app_id] += 1
    try:
        return await _wait(request, name, outcome, begun, receive)
    finally:
        _waiting[app_id] -= 1
        if not _waiting[app_id]:
            del _waiting[app_id]


async def _read(request: ASGIRequest, receive: Receive) -> bytes:
    """The body; what is large is read only for a caller who may send it. Raises Refusal, Gone."""
    said = request.META.get("CONTENT_LENGTH") or ""
    limit = SMALL_BYTES
    if not said.isascii() or not said.isdigit() or int(said[:20]) > SMALL_BYTES:
        limit = await crew().do(_allowed, request)
        if said.isascii() and said.isdigit() and int(said[:20]) > limit:
            raise door.too_large(limit)
    parts, size = [], 0
    while True:
        message = await receive()
        if message["type"] == "http.disconnect":
            raise Gone
        part = message.get("body", b"")
        parts.append(part)
        size += len(part)
        if size > limit:
            raise door.too_large(limit)
        if not message.get("more_body"):
            return b"".join(parts)


async def _wait(
    request: ASGIRequest, name: str, wish: NotYet, begun: float, receive: Receive
) -> HttpResponse:
    """Try again after each hint, until the time is over or the client is gone. Raises Gone."""
    ring = bell()
    place = ring.enlist(wish.lanes)
    gone = asyncio.ensure_future(receive())
    try:
        while True:
            left = begun + wish.seconds - clock.monotonic()
            if left <= 0:
                return api.answer(wish.answer)
            hinted = asyncio.ensure_future(place.event.wait())
            try:
                wait = min(left, look_seconds())
                await asyncio.wait({hinted, gone}, timeout=wait, return_when=asyncio.FIRST_COMPLETED)
            finally:
                hinted.cancel()
            if gone.done():
                raise Gone
            outcome = await crew().do(_attempt, request, name)
            if isinstance(outcome, HttpResponse):
                return outcome
            place.rest()
    finally:
        ring.withdraw(place)
        gone.cancel()
        with suppress(asyncio.CancelledError):
            await gone


def _attempt(request: ASGIRequest, name: str) -> HttpResponse | NotYet:
    db.close_stale()
    try:
        return door.attempt(request, name)
    except NotYet as wish:
        return wish


def _allowed(request: ASGIRequest) -> int:
    """How large a body of this caller may be. Raises Refusal."""
    db.close_stale()
    try:
        caller = authenticate(request.META.get("HTTP_AUTHORIZATION", ""), address_of(request))
    except Exception as error:
        raise refusal_of(error) from None
    return caller.quotas.payload_bytes
