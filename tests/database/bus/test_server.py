"""Calls that are answered right behind the web server, before Django's handler."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Awaitable, Callable
from typing import Any
from uuid import uuid4

import pytest

from jobsplatform.kernel import config
from tasks import registry
from tasks.bus import bindings, crew, server, waiting
from tasks.handlers import job
from tasks.models import Job
from tests.database.bus.client import BusClient, make_client

pytestmark = pytest.mark.django_db(transaction=True)


@pytest.fixture
def video():
    """A sidecar of an app with one job type; what it sends is committed."""
    with registry.preserved():

        @job("scan", app_id="video")
        def scan(folder: str = "/") -> str:
            return folder

        yield make_client("video")
    crew.end()


class Wire:
    """One request on its way: ``parts`` of its body, and what was answered."""

    def __init__(
        self, client: BusClient | None, method: str, *parts: bytes, length: int | None = None
    ) -> None:
        headers = [(b"host", b"localhost"), (b"content-type", b"application/json")]
        if client is not None:
            headers.append((b"authorization", f"Bearer {client.text}".encode()))
        if length is not None:
            headers.append((b"content-length", str(length).encode()))
        self.scope: dict[str, Any] = {
            "type": "http",
            "method": "POST",
            "path": f"/bus/v1/{method}",
            "query_string": b"",
            "headers": headers,
            "client": ("10.0.0.7", 1234),
        }
        self.parts = list(parts)
        self.read = 0
        self.gone = asyncio.Event()
        self.sent: list[dict[str, Any]] = []

    async def receive(self) -> dict[str, Any]:
        if self.read < len(self.parts):
            self.read += 1
            more = self.read < len(self.parts)
            return {"type": "http.request", "body": self.parts[self.read - 1], "more_body": more}
        await self.gone.wait()
        return {"type": "http.disconnect"}

    async def send(self, message: dict[str, Any]) -> None:
        self.sent.append(message)

    @property
    def status(self) -> int:
        return self.sent[0]["status"]

    @property
    def body(self) -> Any:
        return json.loads(self.sent[1]["body"])

    @property
    def headers(self) -> dict[bytes, bytes]:
        return dict(self.sent[0]["headers"])


def run(*wires: Wire, beside: Callable[[], Awaitable[None]] | None = None) -> None:
    async def all_of_them() -> None:
        tasks = [asyncio.ensure_future(server.serve(each.scope, each.receive, each.send)) for each in wires]
        if beside is not None:
            await beside()
        await asyncio.wait_for(asyncio.gather(*tasks), 30)

    asyncio.run(all_of_them())


def encoded(body: Any) -> bytes:
    return json.dumps(body).encode()


def test_a_call_is_answered_as_by_the_other_way(video: BusClient):
    body = encoded({"job_type": "scan"})
    wire = Wire(video, "jobs.create", body, length=len(body))
    wire.scope["headers"].append((b"x-request-id", b"r-7"))
    run(wire)
    assert (wire.status, wire.body["job"]["app_id"]) == (200, "video")
    assert int(wire.headers[b"content-length"]) == len(wire.sent[1]["body"])
    assert (wire.headers[b"x-request-id"], wire.headers[b"cache-control"]) == (b"r-7", b"no-store")
    assert Job.objects.get().request_id == "r-7"
    assert video.ok("jobs.query", {"id": wire.body["id"]})["jobs"] == [wire.body["job"]]


def test_many_calls_at_once_share_a_few_threads(video: BusClient):
    body = encoded({"job_type": "scan"})
    wires = [Wire(video, "jobs.create", body, length=len(body)) for _ in range(40)]
    run(*wires)
    assert [wire.status for wire in wires] == [200] * 40
    assert Job.objects.count() == 40


def test_a_body_in_parts_and_without_a_length(video: BusClient):
    wire = Wire(video, "jobs.create", b'{"job_', b'type": ', b'"scan"}')
    run(wire)
    assert wire.status == 200


def test_what_says_that_it_is_too_large_is_not_read(video: BusClient):
    wire = Wire(video, "jobs.create", b"x", b"x", length=config.get().bus.body_max_bytes + 1)
    run(wire)
    assert (wire.status, wire.body["error"]["code"], wire.read) == (413, "TOO_LARGE", 0)


def test_what_turns_out_too_large_is_read_no_further(video: BusClient):
    with config.override(bus={"body_max_bytes": 100_000}):
        wire = Wire(video, "jobs.create", *[b"x" * 60_000] * 5)
        run(wire)
    assert (wire.status, wire.read) == (413, 2)


def test_nothing_large_is_read_for_whoever_has_no_token(video: BusClient):
    for length in (1_000_000, None):
        wire = Wire(None, "jobs.create", b"x" * 100, b"x", length=length)
        run(wire)
        assert (wire.status, wire.body["error"]["code"], wire.read) == (401, "UNAUTHENTICATED", 0)


def test_a_client_that_goes_away_in_the_middle_is_answered_nothing(video: BusClient):
    wire = Wire(video, "jobs.create", b'{"job_type"', length=20)
    wire.parts.append(b"")
    wire.read, wire.parts = 0, [b'{"job_type"']

    async def receive() -> dict[str, Any]:
        wire.read += 1
        if wire.read == 1:
            return {"type": "http.request", "body": wire.parts[0], "more_body": True}
        return {"type": "http.disconnect"}

    wire.receive = receive
    run(wire)
    assert wire.sent == []
    assert not Job.objects.exists()


def test_a_body_that_does_not_come_is_not_waited_for(video: BusClient, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(server, "BODY_SECONDS", 0.05)
    wire = Wire(video, "jobs.create", length=20)
    run(wire)
    assert (wire.status, wire.body["error"]["code"]) == (400, "MALFORMED_JSON")


def test_only_calls_go_this_way():
    def taken(**more: Any) -> bool:
        scope = {"type": "http", "method": "POST", "path": "/bus/v1/jobs.create", "root_path": "", **more}
        return server.takes(scope)

    assert taken()
    assert not taken(method="GET")
    assert not taken(path="/admin/")
    assert not taken(type="websocket")
    assert not taken(root_path="/behind")


def test_an_application_keeps_what_is_its_own(video: BusClient):
    seen: list[str] = []

    async def application(scope: Any, receive: Any, send: Any) -> None:
        seen.append(scope["path"])

    both = server.in_front_of(application)
    wire = Wire(video, "jobs.query", b"{}", length=2)
    asyncio.run(both(wire.scope, wire.receive, wire.send))
    asyncio.run(both({**wire.scope, "path": "/page"}, wire.receive, wire.send))
    assert (wire.status, seen) == (200, ["/page"])


def test_few_claims_of_an_app_wait_at_once(video: BusClient, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(server, "MOST_WAITING", 1)
    monkeypatch.setattr(server, "bell", waiting.Bell)  # nobody rings it here
    bindings.install()
    video.ok("jobs.register_handler", {"job_type": "scrape", "service": "media"})
    body = {"runner_id": str(uuid4()), "job_types": ["scrape"], "wait_seconds": 30.0}
    waits, second = (Wire(video, "jobs.claim", encoded(body)) for _ in range(2))

    async def one_after_the_other() -> None:
        first = asyncio.ensure_future(server.serve(waits.scope, waits.receive, waits.send))
        while not server._waiting[video.app_id]:
            await asyncio.sleep(0.01)
        await server.serve(second.scope, second.receive, second.send)
        waits.gone.set()
        await asyncio.wait_for(first, 30)

    asyncio.run(one_after_the_other())
    assert (second.status, second.headers[b"retry-after"]) == (429, b"1")
    assert waits.sent == [] and not server._waiting
