"""A NUL, which no database keeps, is no fault of the platform wherever it stands in a request."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest

from tests.database.bus.client import BusClient
from tests.database.bus.places import ID, Requests, with_field

REQUESTS = Requests()
NUL = "a\x00b"


def bodies(method: str) -> Iterator[dict[str, Any]]:
    """The method's requests, each with NUL in one field more."""
    for path, body in REQUESTS.bodies(method):
        yield with_field(body, path, NUL, 1)
        place: Any = body
        for step in path:
            place = place[step]
        for name in fields_at(REQUESTS.methods[method], path, place):
            for value in (NUL, [NUL], {"a": NUL}):
                yield with_field(body, path, name, value)


def fields_at(schema: Any, path: Any, place: Any) -> Iterator[str]:
    """Names that an object there may have, as far as its schema tells them."""
    for kind in REQUESTS._kinds(schema):
        if path and "properties" in kind and path[0] in kind["properties"]:
            yield from fields_at(kind["properties"][path[0]], path[1:], place)
        elif path and kind.get("type") == "array":
            yield from fields_at(kind["items"], path[1:], place)
        elif not path:
            yield from kind.get("properties", {"a": None})


@pytest.mark.parametrize("method", REQUESTS.methods)
def test_nowhere_is_it_a_fault_of_ours(video: BusClient, make_job, method: str):
    make_job(id=ID, state="running", app_id="video", job_type="scan", lease=1)
    codes = {video.call(method, body).code for body in bodies(method)}
    assert codes and not codes & {"INTERNAL", "UNAVAILABLE"}, codes
