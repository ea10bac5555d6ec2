"""The way of every request over the bus: who, what, how large, may it, what does it say; then the method.

All that is refused is answered in one shape (``tasks.bus.errors``), and nothing of it is stored.
"""

from __future__ import annotations

import threading
from typing import Any

from django.http import HttpRequest, HttpResponse, UnreadablePostError
from django.views.decorators.csrf import csrf_exempt
from pydantic_core import from_json

from jobsplatform.kernel import audit, clock, context
from jobsplatform.kernel.login import address_of
from tasks import hints
from tasks.bus import api, forged
from tasks.bus.auth import Caller, authenticate
from tasks.bus.calls import Call, Method, NotYet
from tasks.bus.errors import Refusal, refusal_of
from tasks.bus.waiting import look_seconds

PAGES = ("openapi.json", "docs")


@csrf_exempt
def door(request: HttpRequest, name: str) -> HttpResponse:
    """A view for servers that give each request a thread: it waits where a method waits."""
    begun = clock.monotonic()
    with hints.Waiter() if name in WAITING else _NoWaiter() as waiter:
        while True:
            try:
                return attempt(request, name)
            except NotYet as wish:
                left = wish.seconds - (clock.monotonic() - begun)
                if left <= 0:
                    return api.answer(wish.answer)
                waiter.wait(min(left, look_seconds()))


WAITING: frozenset[str] = frozenset({"jobs.claim"})


class _NoWaiter:
    """For methods that answer at once."""

    def __enter__(self) -> _NoWaiter:
        return self

    def __exit__(self, *_: object) -> None:
        return None

    def wait(self, timeout: float) -> bool:
        return threading.Event().wait(timeout)


def attempt(request: HttpRequest, name: str) -> HttpResponse:
    """One try at a request: its answer. Raises NotYet when the method waits for something."""
    try:
        return _answer(request, name)
    except NotYet:
        raise
    except Exception as error:
        refusal = refusal_of(error)
        return api.answer(refusal.body, refusal.status, refusal.headers)


def _answer(request: HttpRequest, name: str) -> HttpResponse:
    address = address_of(request)
    caller = authenticate(request.META.get("HTTP_AUTHORIZATION", ""), address)
    call = Call(caller, name, address)
    if name in PAGES:
        raise _not_allowed("GET")
    method = api.method_named(name)
    if request.method != "POST":
        raise _not_allowed("POST")
    _may(call, method)
    body = getattr(request, "bus_body", None)
    if body is None:  # else the method waits, and is run again
        body = _body(request, caller)
        found = [*forged.beside_body(request), *forged.in_body(body)]
        if found:
            forged.record(call, found)
    tenant_id, user_id = body.get("tenant_id"), body.get("user_id")
    # Whose work it is, for the log lines and the audit trail; the method itself looks at them closely.
    with context.bind(
        tenant_id=tenant_id[:100] if isinstance(tenant_id, str) else "",
        user_id=user_id[:100] if isinstance(user_id, str) else "",
    ):
        return api.run(method, request, call, body)


def _not_allowed(allowed: str) -> Refusal:
    return Refusal("METHOD_NOT_ALLOWED", f"This address takes {allowed} alone.", headers={"Allow": allowed})


def _may(call: Call, method: Method) -> None:
    if method.scope in call.caller.scopes:
        return
    audit.record("bus.scope_missing", "method", method.name, actor=call.actor, error=f"lacks {method.scope}")
    raise Refusal("SCOPE_MISSING", f"The token lacks the scope {method.scope}.", {"scope": method.scope})


def _body(request: HttpRequest, caller: Caller) -> dict[str, Any]:
    """The body as an object. What is too large is refused before it is read, or parsed at the latest."""
    limit = caller.quotas.payload_bytes
    try:
        said = int(request.META.get("CONTENT_LENGTH") or 0)
    except ValueError:
        said = 0
    if said > limit:
        raise too_large(limit)
    try:
        raw = request.read(limit + 1)
    except UnreadablePostError:
        raise Refusal("MALFORMED_JSON", "The body broke off.") from None
    if len(raw) > limit:
        raise too_large(limit)
    request._body = raw  # Django's own limit is one for forms
    return parse(raw)


def too_large(limit: int) -> Refusal:
    """The body has more than ``limit`` bytes."""
    return Refusal("TOO_LARGE", f"The body has more than {limit} bytes.", {"limit": limit})


def parse(raw: bytes) -> dict[str, Any]:
    """A JSON object. Raises Refusal: MALFORMED_JSON, for NaN, lone surrogates and endless nesting too."""
    try:
        body = from_json(raw, allow_inf_nan=False)
    except ValueError as error:
        raise Refusal("MALFORMED_JSON", f"The body is no JSON: {str(error)[:200]}") from None
    if not isinstance(body, dict):
        raise Refusal("MALFORMED_JSON", "The body must be a JSON object.")
    return body
