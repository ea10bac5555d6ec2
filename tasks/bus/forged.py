"""Whose a request is, its token says. Whatever else names an app is refused or left unread, and recorded."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from django.core.exceptions import TooManyFieldsSent
from django.http import HttpRequest

from jobsplatform.kernel import audit, tokens
from tasks.bus.calls import Call
from tasks.bus.errors import Refusal, invalid
from tasks.json_values import clean_text, shown

NAMES = frozenset({"app_id", "appId"})

FREE = frozenset({"params", "data", "payload"})
"""Fields whose content is the app's own; at their top level they may not name an app either."""

UNREAD = frozenset({"result", "extra", "cursor", "params_schema"})
"""What a run says of itself. Nobody reads an app's name there: it stays, and is recorded."""

SHOWN = 100
MOST = 20
"""So many names of one request are recorded and told; how many there were in all is kept with them."""

ACTION = "bus.app_id_forged"


@dataclass(frozen=True, slots=True)
class Forged:
    """A name of an app where none belongs. ``refused``: the request is; else it is done as if it were not there."""

    where: str
    value: Any
    refused: bool


def in_body(value: Any, path: str = "body") -> Iterator[Forged]:
    """Names of apps in the fields of a method, and at the top level of what is the app's own."""
    if isinstance(value, list):
        for n, item in enumerate(value):
            yield from in_body(item, f"{path}[{n}]")
    elif isinstance(value, dict):
        yield from _named(value, path, refused=True)
        for name, item in value.items():
            if name in FREE or name in UNREAD:
                if isinstance(item, dict):
                    yield from _named(item, f"{path}.{name}", refused=name in FREE)
            elif isinstance(item, (dict, list)):
                yield from in_body(item, f"{path}.{name[:SHOWN]}")


def _named(value: dict[str, Any], path: str, *, refused: bool) -> Iterator[Forged]:
    for name in NAMES & value.keys():
        yield Forged(f"{path}.{name}", value[name], refused)


def beside_body(request: HttpRequest) -> Iterator[Forged]:
    """Names of apps in headers and in the address. Nobody reads them; a proxy may send such, so they are no fault.

    Raises Refusal: INVALID, for an address that cannot be read."""
    for name, value in request.META.items():
        if name.startswith("HTTP_") and "APP" in name and name.replace("_", "").endswith("APPID"):
            yield Forged(f"header {name[5:].replace('_', '-').lower()}", value, refused=False)
    if request.META.get("QUERY_STRING"):
        try:
            fields = request.GET
        except TooManyFieldsSent:
            raise invalid(("", "the query string has too many fields; methods read none of it")) from None
        for name in NAMES & fields.keys():
            yield Forged(f"query {name}", fields[name], refused=False)


def record(call: Call, found: list[Forged]) -> None:
    """Record the first of them, and refuse the request if one is to be. Raises Refusal: APP_ID_FORBIDDEN."""
    told = sorted(found, key=lambda each: not each.refused)[:MOST]
    total = {"of": len(found)} if len(found) > len(told) else {}
    for each in told:
        value = each.value if isinstance(each.value, str) else shown(each.value)
        audit.record(
            ACTION,
            "app",
            call.app_id,
            actor=call.actor,
            after={
                "method": clean_text(call.method, SHOWN),
                "where": clean_text(each.where, SHOWN),
                "value": clean_text(tokens.masked(value), SHOWN),
                **total,
            },
            error="refused" if each.refused else "ignored",
        )
    refused = [each.where for each in told if each.refused]
    if refused:
        raise Refusal(
            "APP_ID_FORBIDDEN",
            f"{refused[0].removeprefix('body.')}: whose a job is, the token says; leave it out.",
            {"fields": [{"field": where.removeprefix("body."), "problem": "forbidden"} for where in refused]},
        )
