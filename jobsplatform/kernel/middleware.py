"""The context of an HTTP request, in sync and async servers alike."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from asgiref.sync import iscoroutinefunction, sync_to_async
from django.contrib.auth import SESSION_KEY
from django.db import DatabaseError
from django.http import HttpRequest
from django.utils.decorators import sync_and_async_middleware

from jobsplatform.kernel import context

REQUEST_ID_HEADER = "X-Request-ID"

Handler = Callable[[HttpRequest], Any]


@sync_and_async_middleware
def request_context(get_response: Handler) -> Handler:
    """A fresh context a request. The answer carries its request id, so that a user can name it."""
    if iscoroutinefunction(get_response):

        async def on_loop(request: HttpRequest) -> Any:
            with context.fresh(**request_facts(request)) as facts:
                response = await get_response(request)
                response[REQUEST_ID_HEADER] = facts.request_id
                return response

        return on_loop

    def in_thread(request: HttpRequest) -> Any:
        with context.fresh(**request_facts(request)) as facts:
            response = get_response(request)
            response[REQUEST_ID_HEADER] = facts.request_id
            return response

    return in_thread


@sync_and_async_middleware
def user_context(get_response: Handler) -> Handler:
    """Adds who is logged in; comes after the session's middleware."""
    if iscoroutinefunction(get_response):

        async def on_loop(request: HttpRequest) -> Any:
            with context.bind(user_id=await sync_to_async(session_user)(request)):
                return await get_response(request)

        return on_loop

    def in_thread(request: HttpRequest) -> Any:
        with context.bind(user_id=session_user(request)):
            return get_response(request)

    return in_thread


def request_facts(request: HttpRequest) -> dict[str, str]:
    """Request id and trace, from the headers when they are sane; the route is the path without query."""
    return {
        "request_id": context.sane_request_id(request.headers.get(REQUEST_ID_HEADER)),
        "traceparent": context.child_traceparent(request.headers.get("traceparent")),
        "method": (request.method or "")[:10],
        "route": request.path[:200],
    }


def session_user(request: HttpRequest) -> str:
    """The id of the logged-in user; empty for nobody. Without a session cookie the database is not asked."""
    try:
        return str(request.session.get(SESSION_KEY) or "")
    except DatabaseError:
        # Health pages must answer while the database is away; a page that needs the user fails by itself.
        return ""
