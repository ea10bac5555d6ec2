"""The door of a sidecar that is called: who may call, what is answered, what is told later."""

from __future__ import annotations

import asyncio
import json
import threading
from collections.abc import Callable
from typing import Any

import httpx
import pytest

from jobsplatform_sdk import JobContext, Retry, Sidecar, signing
from jobsplatform_sdk.callback import Callback
from jobsplatform_sdk.serving import serve
from tests.pure.sdk.fake_bus import FakeBus, job_output

NOW = 1_767_268_800
SECRET = "hush"

Make = Callable[..., Sidecar]


def body_of(job_id: str = "one", lease: int = 1, **params: Any) -> bytes:
    job = job_output(job_id, "work", params, lease)
    return json.dumps({"job": job, "lease": lease, "caller": "platform"}).encode()


@pytest.fixture
def door(bus: FakeBus, make_sidecar: Make, monkeypatch: pytest.MonkeyPatch) -> Callable[..., Callback]:
    monkeypatch.setattr("jobsplatform_sdk.clock.unix", lambda: float(NOW))
    bus.claims = False

    def make(body: Callable[[JobContext], Any], keep_seconds: float = 60.0, **options: Any) -> Callback:
        url = "http://sidecar.test/jobs"
        sidecar = make_sidecar(transport="http", url=url, keep_seconds=keep_seconds)

        @sidecar.job("work")
        def work(ctx: JobContext, **params: Any) -> Any:
            return body(ctx)

        sidecar.start()
        return Callback(sidecar, **options)

    return make


def call(door: Callback, body: bytes, signature: str | None = None, method: str = "POST") -> tuple[int, Any]:
    answer = door.answer(method, signing.sign(SECRET, body, NOW) if signature is None else signature, body)
    return answer.status, json.loads(answer.encoded)


def test_a_signed_call_is_answered_with_the_result(bus: FakeBus, door: Any) -> None:
    assert call(door(lambda ctx: {"id": ctx.id, "params": ctx.params}), body_of(show=7)) == (
        200,
        {"kind": "completed", "result": {"id": "one", "params": {"show": 7}}},
    )
    assert bus.ended == {} and bus.calls("jobs.claim") == [] and bus.calls("jobs.heartbeat") == []


@pytest.mark.parametrize(
    "signature",
    [
        "",
        "nonsense",
        f"t={NOW}",
        f"t={NOW},v1=",
        f"t={NOW},v1=" + "0" * 64,
        f"t={NOW},v1=\N{SNOWMAN}",
        f"t={'9' * 400},v1=00",
        "t=\N{ARABIC-INDIC DIGIT ONE},v1=00",
        signing.sign("another", body_of(), NOW),
        signing.sign(SECRET, body_of(show=8), NOW),
        signing.sign(SECRET, body_of(), NOW - 301),
        signing.sign(SECRET, body_of(), NOW + 301),
        signing.sign(SECRET, body_of(), NOW - 301).replace(str(NOW - 301), str(NOW)),
    ],
)
def test_nobody_else_may_call(bus: FakeBus, door: Any, signature: str) -> None:
    ran: list[str] = []
    status, _ = call(door(lambda ctx: ran.append(ctx.id)), body_of(), signature)
    assert status == 401 and ran == []


def test_any_of_several_secrets_and_signatures_will_do(door: Any) -> None:
    app = door(lambda ctx: 1, secrets=["old"])
    other = signing.sign("unknown", body_of(), NOW) + "," + signing.sign("old", body_of(), NOW).split(",")[1]
    assert call(app, body_of(), other) == (200, {"kind": "completed", "result": 1})


@pytest.mark.parametrize(
    "body", [b"", b"{", b"[]", b"{}", b'{"job": {}}', b'{"job": {"id": "1"}, "lease": 1}']
)
def test_a_signed_call_without_a_job_is_refused(door: Any, body: bytes) -> None:
    assert call(door(lambda ctx: 1), body)[0] == 400


def test_only_posts_are_answered(door: Any) -> None:
    assert call(door(lambda ctx: 1), body_of(), method="GET")[0] == 405


def test_any_end_may_be_the_answer(bus: FakeBus, door: Any) -> None:
    def body(ctx: JobContext) -> None:
        ctx.progress(1, 2, "half")
        raise Retry(3, "busy")

    assert call(door(body), body_of()) == (200, {"kind": "retry", "after": 3.0, "error": "busy"})
    assert bus.ended == {} and bus.calls("jobs.update_progress")[-1]["label"] == "half"


def test_a_cancel_is_told_over_the_bus_and_the_call_is_let_go(bus: FakeBus, door: Any) -> None:
    def body(ctx: JobContext) -> None:
        bus.cancels["one"] = "user"
        ctx.checkpoint(1)
        ctx.check_cancel()

    assert call(door(body), body_of()) == (202, {})
    assert bus.end_of() == {"kind": "cancelled"}


def test_a_job_that_was_brought_is_kept_while_its_run_goes_on(bus: FakeBus, door: Any) -> None:
    go = threading.Event()
    app = door(lambda ctx: go.wait(10), answer_seconds=0.0, keep_seconds=0.15)
    assert call(app, body_of()) == (202, {})

    def kept() -> list[Any]:
        return [
            body["ending"] for body in bus.calls("jobs.update_status") if body["ending"]["kind"] == "deferred"
        ]

    bus.wait_for(lambda: len(kept()) >= 3)
    assert kept()[0] == {"kind": "deferred", "deadline_seconds": 0.15}
    go.set()
    assert bus.end_of() == {"kind": "completed", "result": True}


def test_a_result_that_comes_late_is_told_over_the_bus_and_a_second_call_runs_nothing(
    bus: FakeBus, door: Any
) -> None:
    started: list[int] = []
    go = threading.Event()

    def body(ctx: JobContext) -> str:
        started.append(1)
        ctx.progress(1, 2)
        go.wait(10)
        return "late"

    app = door(body, answer_seconds=0.0)
    assert call(app, body_of()) == (202, {})
    assert call(app, body_of()) == (202, {})
    go.set()
    assert bus.end_of() == {"kind": "completed", "result": "late"}
    assert started == [1]


def test_a_run_that_was_called_hears_of_its_cancel_too(bus: FakeBus, door: Any) -> None:
    def body(ctx: JobContext) -> None:
        bus.cancels["one"] = "user"
        while True:
            ctx.check_cancel()
            threading.Event().wait(0.01)

    assert call(door(body, answer_seconds=0.0), body_of()) == (202, {})
    assert bus.end_of() == {"kind": "cancelled"}


def test_the_door_over_real_http_and_as_an_asgi_app(bus: FakeBus, door: Any) -> None:
    app, body = door(lambda ctx: 5), body_of()
    headers = {signing.HEADER: signing.sign(SECRET, body, NOW)}
    with serve(app, "127.0.0.1", 0) as port:
        answer = httpx.post(f"http://127.0.0.1:{port}/jobs", content=body, headers=headers)
        assert (answer.status_code, answer.json()) == (200, {"kind": "completed", "result": 5})
        assert httpx.post(f"http://127.0.0.1:{port}/jobs", content=b"").status_code == 401

    async def main(size: int) -> int:
        transport = httpx.ASGITransport(app.asgi)
        async with httpx.AsyncClient(transport=transport, base_url="http://sidecar.test") as client:
            return (await client.post("/jobs", content=body + b" " * size, headers=headers)).status_code

    assert asyncio.run(main(0)) == 200
    assert asyncio.run(main(4 * 1024 * 1024)) == 413
