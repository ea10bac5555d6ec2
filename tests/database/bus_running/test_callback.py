"""Jobs brought to a sidecar by calls: signed, to approved addresses alone, and what each answer means."""

from __future__ import annotations

import json
import threading
from collections.abc import Callable, Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

import pytest

from jobsplatform.kernel import clock, config
from jobsplatform.kernel.audit import Actor
from jobsplatform.kernel.models import Process
from jobsplatform.testing.platform import HandPlatform
from tasks import registry
from tasks.bus import bindings, callback, signing
from tasks.bus.delivery import Deliverer
from tasks.bus.leaving import Leaving
from tasks.bus.proxy import BusProxyHandler
from tasks.models import HandlerBinding, Job
from tasks.outcomes import Ending
from tests.database.bus_running.conftest import Side

pytestmark = pytest.mark.django_db
ACTOR = Actor("op", "user")


class Sidecar(ThreadingHTTPServer):
    """Answers each call as it is told to, and remembers what it was sent."""

    def __init__(self) -> None:
        super().__init__(("127.0.0.1", 0), _Answers)
        self.answer: tuple[int, bytes] = (200, b"{}")
        self.hold = threading.Event()
        self.hold.set()
        self.calls: list[tuple[dict[str, str], bytes]] = []
        self.on_call: Callable[[], object] = lambda: None

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.server_address[1]}/run"


class _Answers(BaseHTTPRequestHandler):
    server: Sidecar

    def do_POST(self) -> None:
        body = self.rfile.read(int(self.headers["Content-Length"]))
        self.server.calls.append((dict(self.headers.items()), body))
        self.server.on_call()
        self.server.hold.wait(30)
        status, content = self.server.answer
        self.send_response(status)
        self.send_header("Content-Length", str(len(content)))
        self.end_headers()
        self.wfile.write(content)

    def log_message(self, format: str, *args: Any) -> None: ...


@pytest.fixture
def sidecar() -> Iterator[Sidecar]:
    """A sidecar's own server."""
    server = Sidecar()
    thread = threading.Thread(target=server.serve_forever, daemon=True)
    thread.start()
    yield server
    server.hold.set()
    server.shutdown()
    server.server_close()
    thread.join()


@pytest.fixture
def private(monkeypatch: pytest.MonkeyPatch) -> None:
    """Private addresses may be called, and an answer is waited for shortly."""
    settings = config.get()
    bus = settings.bus.model_copy(update={"call_private": True, "call_seconds": 0.3})
    monkeypatch.setattr(config, "get", lambda: settings.model_copy(update={"bus": bus}))


def called(job: Job, handler: BusProxyHandler) -> Ending:
    """What its answer means, while nobody leaves."""
    ending = callback.call(job, handler, Leaving())
    assert ending is not None
    return ending


def bound(side: Side, sidecar: Sidecar, *, approve: bool = True, **spec: Any) -> BusProxyHandler:
    """A type that is called at the sidecar."""
    body = {"job_type": "called", "service": "media", "transport": "http", "url": sidecar.url, "spec": spec}
    side.client.ok("jobs.register_handler", body)
    if approve:
        bindings.approve(HandlerBinding.objects.get(job_type="called").pk, actor=ACTOR, now=clock.now())
    handler = registry.get("video", "called")
    assert isinstance(handler, BusProxyHandler)
    return handler


def given(side: Side, **params: Any) -> Job:
    """A job of that type which has begun."""
    job_id = side.create("called", params, user_id="u1")
    Job.objects.filter(id=job_id).update(
        state="running",
        lease=1,
        worker_id=job_id,
        started_at=clock.now(),
        first_started_at=clock.now(),
        attempt=1,
    )
    return Job.objects.get(id=job_id)


@pytest.mark.usefixtures("private")
@pytest.mark.parametrize(
    ("status", "content", "kind"),
    [
        (200, b"", "completed"),
        (200, b'{"result": {"n": 1}, "count": 2}', "completed"),
        (200, b'{"kind": "retry", "after": 3, "error": "busy"}', "retry"),
        (200, b'{"kind": "snooze", "seconds": 3}', "snoozed"),
        (202, b"", "deferred"),
        (200, b"[]", "failed"),
        (200, b'{"colour": "red"}', "failed"),
        (200, b"not json", "failed"),
        (500, b"", "failed"),
        (302, b"", "failed"),
    ],
)
def test_what_an_answer_means(side: Side, sidecar: Sidecar, status: int, content: bytes, kind: str):
    handler = bound(side, sidecar)
    sidecar.answer = (status, content)
    ending = called(given(side), handler)
    assert ending.kind == kind, ending.error
    assert ending.retryable
    assert len(sidecar.calls) == 1  # redirects lead nowhere


@pytest.mark.usefixtures("private")
def test_a_call_is_signed_and_says_who_calls(side: Side, sidecar: Sidecar):
    handler = bound(side, sidecar)
    job = given(side, n=1)
    assert called(job, handler).kind == "completed"
    headers, body = sidecar.calls[0]
    secret = signing.secret_of("video")
    assert signing.verify(secret, headers[signing.HEADER], body, clock.now())
    assert not signing.verify(secret, headers[signing.HEADER], body + b" ", clock.now())
    assert not signing.verify(signing.secret_of("music"), headers[signing.HEADER], body, clock.now())
    said = json.loads(body)
    assert (said["job"]["id"], said["lease"], said["job"]["params"]) == (str(job.id), 1, {"n": 1})
    assert said["caller"]["app_id"] == "video"
    assert (said["caller"]["service"], said["caller"]["user_id"]) == ("media", "u1")
    assert "Authorization" not in headers


def test_an_old_signature_is_worth_nothing(side: Side):
    now = clock.now()
    header = signing.signature("s", b"body", now)
    assert signing.verify("s", header, b"body", now)
    for wrong in (
        "",
        "t=,v1=",
        "t=x,v1=y",
        header.replace("v1=", "v1=0"),
        f"t={int(now.timestamp()) - 999},v1=00",
    ):
        assert not signing.verify("s", wrong, b"body", now)


@pytest.mark.usefixtures("private")
def test_no_answer_in_time_means_later(side: Side, sidecar: Sidecar, jobs: HandPlatform):
    handler = bound(side, sidecar, timeout=77.0)
    sidecar.hold.clear()
    sidecar.on_call = lambda: jobs.clock.advance(1)
    ending = called(given(side), handler)
    assert (ending.kind, ending.deadline) == ("deferred", 77.0)


def test_private_addresses_are_refused_when_it_connects(side: Side, sidecar: Sidecar):
    handler = bound(side, sidecar)
    ending = called(given(side), handler)
    assert (ending.kind, ending.error_type, ending.retryable) == ("failed", "Blocked", False)
    assert sidecar.calls == []


def test_what_nobody_approved_is_not_brought(side: Side, sidecar: Sidecar):
    handler = bound(side, sidecar, approve=False)
    assert not handler.is_brought_by("http")
    assert bound(side, sidecar).is_brought_by("http")
    sidecar_moved = {"job_type": "called", "service": "media", "transport": "http", "url": f"{sidecar.url}2"}
    side.client.ok("jobs.register_handler", sidecar_moved)
    moved = registry.get("video", "called")
    assert isinstance(moved, BusProxyHandler)
    assert (moved.url, moved.is_brought_by("http")) == ("", False)


@pytest.mark.django_db(transaction=True)
@pytest.mark.usefixtures("private")
def test_a_deliverer_claims_brings_and_writes_the_end(side: Side, sidecar: Sidecar):
    bound(side, sidecar)
    done, later = side.create("called", {"n": 1}), side.create("called", {"n": 2})
    brought = []

    def bring(job: Job, handler: BusProxyHandler, leaving: Leaving) -> Any:
        brought.append(job.params["n"])
        sidecar.answer = (200, b'{"result": 9}') if job.params["n"] == 1 else (202, b"")
        return callback.call(job, handler, leaving)

    deliverer = Deliverer("http", bring)
    deliverer._threads = 1
    for _ in range(2):
        deliverer.step()
        assert deliverer._pool is not None
        deliverer._pool.submit(lambda: None).result(30)
    assert sorted(brought) == [1, 2]
    assert Job.objects.get(id=done).result == 9
    waiting = Job.objects.get(id=later)
    assert (waiting.state, waiting.open_end) == ("waiting", True)
    run = {"id": later, "lease": waiting.lease}
    assert side.client.ok("jobs.update_progress", {**run, "done": 1})["cancel"] is None
    assert side.end(run, "completed", result=3)["state"] == "completed"
    deliverer.stop(5)
    assert not Process.objects.filter(role="sidecar", stopped_at=None, app_id="").exists()
