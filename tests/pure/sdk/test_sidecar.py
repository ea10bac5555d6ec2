"""A sidecar on a platform in memory: what it is given, what its handlers see, and how their ends are told."""

from __future__ import annotations

import threading
from collections.abc import Callable
from datetime import UTC, datetime
from typing import Any

import httpx
import pytest

from jobsplatform_sdk import (
    Child,
    Deferred,
    Discard,
    Fail,
    JobContext,
    Outcome,
    Pause,
    Retry,
    Sidecar,
    Snooze,
    errors,
)
from tests.pure.sdk.fake_bus import PATIENCE, FakeBus, refusal

Make = Callable[..., Sidecar]


def end_of(bus: FakeBus, sidecar: Sidecar, body: Callable[[JobContext], Any], **offer: Any) -> dict[str, Any]:
    """How a job ends whose handler does this."""

    def work(ctx: JobContext) -> Any:
        return body(ctx)

    sidecar.job("work")(work)
    bus.offer("work", **offer)
    sidecar.start()
    return bus.end_of()


def raising(error: BaseException) -> Callable[[JobContext], Any]:
    def body(ctx: JobContext) -> Any:
        raise error

    return body


class Odd(Exception):
    def __str__(self) -> str:
        raise RuntimeError("no text")


@pytest.mark.parametrize(
    "answer, ending",
    [
        (None, {"kind": "completed"}),
        ({"a": (1, 2)}, {"kind": "completed", "result": {"a": [1, 2]}}),
        (Outcome([1], 3, {"x": 1}), {"kind": "completed", "result": [1], "count": 3, "extra": {"x": 1}}),
        (Snooze(5, "night"), {"kind": "snooze", "seconds": 5.0, "reason": "night"}),
    ],
)
def test_what_a_handler_returns_is_the_end(
    bus: FakeBus, make_sidecar: Make, answer: Any, ending: Any
) -> None:
    assert end_of(bus, make_sidecar(), lambda ctx: answer) == ending


@pytest.mark.parametrize(
    "error, ending",
    [
        (Retry(2, "busy"), {"kind": "retry", "after": 2.0, "error": "busy"}),
        (Retry(), {"kind": "retry", "error": "asked to be run again"}),
        (Discard("gone\nfor good"), {"kind": "discarded", "reason": "gone for good"}),
        (Pause("no disk", True), {"kind": "paused", "reason": "no disk", "retryable": True}),
        (Deferred(60), {"kind": "deferred", "deadline_seconds": 60.0}),
        (
            ExceptionGroup("tasks", [ValueError("x"), Discard("inside")]),
            {"kind": "discarded", "reason": "inside"},
        ),
    ],
)
def test_what_a_handler_raises_is_the_end(bus: FakeBus, make_sidecar: Make, error: Any, ending: Any) -> None:
    assert end_of(bus, make_sidecar(), raising(error)) == ending


@pytest.mark.parametrize(
    "error, error_type, message, retryable",
    [
        (ValueError("bad\x00 text"), "ValueError", "bad\N{REPLACEMENT CHARACTER} text", True),
        (Fail("never again", retryable=False), "Fail", "never again", False),
        (SystemExit(3), "SystemExit", "3", True),
        (KeyboardInterrupt(), "KeyboardInterrupt", "KeyboardInterrupt", True),
        (Odd(), "Odd", "(a Odd whose text cannot be read: RuntimeError)", True),
    ],
)
def test_failures_are_told_with_type_text_and_traceback(
    bus: FakeBus, make_sidecar: Make, error: BaseException, error_type: str, message: str, retryable: bool
) -> None:
    ending = end_of(bus, make_sidecar(), raising(error))
    trace = ending.pop("traceback")
    assert "in body" in trace
    told = {"kind": "failed", "error": message, "error_type": error_type, "retryable": retryable}
    assert ending == told


@pytest.mark.parametrize(
    "answer", [{"a": float("nan")}, {"deep": {"b": b"x"}}, "\ud800", Outcome(1, count="x")]
)  # type: ignore[arg-type]
def test_a_result_that_cannot_be_stored_fails_for_good(bus: FakeBus, make_sidecar: Make, answer: Any) -> None:
    ending = end_of(bus, make_sidecar(), lambda ctx: answer)
    assert ending["kind"] == "failed" and ending["error_type"] == "ResultInvalid"
    assert ending["retryable"] is False


def test_a_result_that_the_platform_refuses_fails_for_good(bus: FakeBus, make_sidecar: Make) -> None:
    sidecar = make_sidecar()

    def body(ctx: JobContext) -> str:
        bus.faults.append(refusal(413, "TOO_LARGE"))
        return "x"

    # The claim that waits may take the fault; then it is a sidecar that was refused.
    sidecar = make_sidecar(concurrency=1)
    ending = end_of(bus, sidecar, body)
    assert ending["kind"] == "failed" and ending["error_type"] == "ResultRefused"


def test_the_context_has_what_the_platform_told(bus: FakeBus, make_sidecar: Make) -> None:
    seen: dict[str, Any] = {}

    def body(ctx: JobContext) -> None:
        seen.update(vars(ctx))
        seen["window"] = ctx.window

    child = {"key": "a", "id": "9", "state": "completed", "result": 5, "error": "", "data": {}}
    end_of(
        bus,
        make_sidecar(),
        body,
        cursor={"page": 3},
        attempt=2,
        run_reason="catch_up",
        force=True,
        planned_at="2026-01-01T12:00:00Z",
        window_start="2026-01-01T11:00:00Z",
        children=[child],
    )
    assert (seen["id"], seen["app_id"], seen["job_type"], seen["lease"]) == ("one", "video", "work", 1)
    assert seen["cursor"] == {"page": 3} and seen["attempt"] == 2 and seen["force"] is True
    assert seen["run_reason"] == "catch_up"
    noon = datetime(2026, 1, 1, 12, tzinfo=UTC)
    assert seen["window"] == (datetime(2026, 1, 1, 11, tzinfo=UTC), noon) and seen["started_at"] == noon
    assert seen["children"][0].result == 5


def test_params_are_the_arguments_and_their_schema_goes_to_the_platform(
    bus: FakeBus, make_sidecar: Make
) -> None:
    sidecar = make_sidecar(service="scraper")

    @sidecar.job("tv_scrape", max_attempts=5, public_params=["show"])
    async def tv_scrape(ctx: JobContext, show: int, tags: list[str] | None = None) -> Any:
        """Scrape a show."""
        return [show, tags]

    @tv_scrape.continuation
    def after(ctx: JobContext) -> None: ...

    bus.offer("tv_scrape", params={"show": 7})
    sidecar.start()
    assert bus.end_of() == {"kind": "completed", "result": [7, None]}
    (registered,) = bus.calls("jobs.register_handler")
    assert (registered["service"], registered["transport"]) == ("scraper", "claim")
    assert registered["spec"] == {
        "max_attempts": 5,
        "public_params": ["show"],
        "description": "Scrape a show.",
        "continuation": True,
        "params_schema": {
            "type": "object",
            "properties": {
                "show": {"type": "integer"},
                "tags": {
                    "anyOf": [{"type": "array", "items": {"type": "string"}}, {"type": "null"}],
                    "default": None,
                },
            },
            "required": ["show"],
            "additionalProperties": False,
        },
    }


@pytest.mark.parametrize("params, what", [({}, "missing: show"), ({"show": 1, "sow": 2}, "unknown: sow")])
def test_params_that_do_not_fit_fail_for_good(
    bus: FakeBus, make_sidecar: Make, params: dict[str, Any], what: str
) -> None:
    sidecar = make_sidecar()

    @sidecar.job("work")
    def work(show: int) -> None: ...

    bus.offer("work", params=params)
    sidecar.start()
    ending = bus.end_of()
    assert what in ending["error"] and ending["retryable"] is False


def test_a_continuation_gets_the_children_and_the_params_it_names(bus: FakeBus, make_sidecar: Make) -> None:
    sidecar = make_sidecar()

    @sidecar.job("work")
    def work(ctx: JobContext, show: int, other: int = 0) -> None: ...

    @work.continuation
    def gather(ctx: JobContext, show: int) -> Any:
        return [show, [child.result for child in ctx.children]]

    child = {"key": "a", "id": "9", "state": "completed", "result": 5, "error": "", "data": {}}
    bus.offer("work", params={"show": 7, "other": 1}, continuing=True, children=[child])
    sidecar.start()
    assert bus.end_of()["result"] == [7, [5]]


def test_a_declaration_that_cannot_work_is_refused(make_sidecar: Make) -> None:
    sidecar = make_sidecar()
    sidecar.job("work")(lambda ctx: None)
    with pytest.raises(ValueError, match="declared already"):
        sidecar.job("work")(lambda ctx: None)

    def positional(ctx: JobContext, /, *args: int) -> None: ...
    def yields(ctx: JobContext) -> Any:
        yield 1

    for function in (positional, yields):
        with pytest.raises(TypeError):
            sidecar.job("other")(function)
    with pytest.raises(ValueError, match="no handlers"):
        make_sidecar().start()
    for options in ({"concurrency": 0}, {"wait_seconds": 31}, {"transport": "http"}, {"url": "http://x"}):
        with pytest.raises(ValueError):
            make_sidecar(**options)


def test_children_go_out_with_keys_in_one_call(bus: FakeBus, make_sidecar: Make) -> None:
    sidecar = make_sidecar()

    @sidecar.job("one_show")
    def one_show(show: int) -> None: ...

    def body(ctx: JobContext) -> Any:
        with pytest.raises(ValueError, match="no key"):
            ctx.spawn([Child(one_show)])
        with pytest.raises(ValueError, match="given twice"):
            ctx.spawn([Child(one_show, key="a"), Child("x", key="a")])
        ids = ctx.spawn([Child(one_show, {"show": 1}, "a"), Child("x", {}, "b", {"priority": 5})], "ignore")
        return ids

    assert end_of(bus, sidecar, body)["result"] == ["a", "b"]
    (call,) = bus.calls("jobs.batch_children")
    assert call["ignore_failures"] is True
    assert call["children"] == [
        {"job_type": "one_show", "params": {"show": 1}, "child_key": "a"},
        {"job_type": "x", "params": {}, "child_key": "b", "priority": 5},
    ]


def test_progress_is_coalesced_and_the_last_one_is_sent_before_the_end(
    bus: FakeBus, make_sidecar: Make
) -> None:
    def body(ctx: JobContext) -> None:
        for _ in ctx.track(range(1000), label="frames"):
            pass
        ctx.progress(-1)
        ctx.progress("many")  # type: ignore[arg-type]
        ctx.progress(1001, 1000)

    end_of(bus, make_sidecar(), body)
    sent = bus.calls("jobs.update_progress")
    assert 1 <= len(sent) <= 5
    assert sent[-1] == {"id": "one", "lease": 1, "done": 1001.0, "total": 1001.0, "label": ""}
    order = [name for name, _ in bus.told if name in ("jobs.update_progress", "jobs.update_status")]
    assert order[-1] == "jobs.update_status"


def test_an_older_progress_on_its_way_is_never_the_last(
    bus: FakeBus, make_sidecar: Make, monkeypatch: pytest.MonkeyPatch
) -> None:
    on_its_way, kept = threading.Event(), []

    def slowly(body: dict[str, Any]) -> Any:
        if body["done"] == 1:
            on_its_way.set()
            bus.give_way(lambda: 2 in kept)
        kept.append(body["done"])
        return {"cancel": None, "lease_expires_at": None}

    def body(ctx: JobContext) -> None:
        ctx.progress(1, 2)
        assert on_its_way.wait(PATIENCE)
        ctx.progress(2, 2)

    monkeypatch.setattr(bus, "jobs_update_progress", slowly)
    assert end_of(bus, make_sidecar(), body)["kind"] == "completed"
    assert kept == [1, 2]


def test_checkpoint_and_merge_are_saved_when_they_return(bus: FakeBus, make_sidecar: Make) -> None:
    def body(ctx: JobContext) -> Any:
        ctx.checkpoint({"page": 2})
        with pytest.raises(ValueError, match="JSON"):
            ctx.checkpoint(object())
        return [ctx.cursor, ctx.merge(seen=3), ctx.data]

    assert end_of(bus, make_sidecar(), body)["result"] == [{"page": 2}, {"seen": 3}, {"seen": 3}]


def test_an_outage_is_sat_out(bus: FakeBus, make_sidecar: Make) -> None:
    def body(ctx: JobContext) -> str:
        bus.faults.extend(
            [httpx.ConnectError("down"), httpx.ReadTimeout("lost"), refusal(503, "UNAVAILABLE")]
        )
        ctx.checkpoint(1)
        return "done"

    assert end_of(bus, make_sidecar(concurrency=1), body)["result"] == "done"


def test_twice_given_is_run_once(bus: FakeBus, make_sidecar: Make) -> None:
    starts: list[int] = []
    go = threading.Event()

    def body(ctx: JobContext) -> None:
        starts.append(ctx.lease)
        go.wait(10)

    sidecar = make_sidecar()
    sidecar.job("work")(body)
    bus.offer("work")
    bus.offer("work")
    bus.offer("work", job_id="two")
    sidecar.start()
    bus.wait_for(lambda: len(starts) == 2)
    go.set()
    bus.end_of("one")
    bus.end_of("two")
    assert len(starts) == 2


def test_a_sidecar_that_is_refused_for_good_says_so(bus: FakeBus, make_sidecar: Make) -> None:
    sidecar = make_sidecar(register=False)
    sidecar.job("work")(lambda ctx: None)
    bus.faults.append(refusal(401, "UNAUTHENTICATED"))
    sidecar.start()
    bus.wait_for(lambda: sidecar.fatal is not None)
    assert isinstance(sidecar.fatal, errors.Unauthenticated)
