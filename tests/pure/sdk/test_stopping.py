"""Runs that should stop: asked by the platform, without their lease, cut off, or because the sidecar ends."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Callable
from typing import Any

import pytest

from jobsplatform_sdk import JobCancelled, JobContext, LeaseLost, Sidecar
from jobsplatform_sdk.outcomes import Snooze
from tests.pure.sdk.fake_bus import FakeBus

Make = Callable[..., Sidecar]


def begin(bus: FakeBus, sidecar: Sidecar, body: Callable[[JobContext], Any]) -> None:
    sidecar.job("work")(body)
    bus.offer("work")
    sidecar.start()


def until_told(ctx: JobContext) -> None:
    """Works until it is asked to stop."""
    while True:
        ctx.check_cancel()
        threading.Event().wait(0.005)


@pytest.mark.parametrize(
    "reason, ending",
    [
        ("user", {"kind": "cancelled"}),
        ("superseded", {"kind": "cancelled"}),
        ("preempted", {"kind": "cancelled"}),
        ("suspended", {"kind": "cancelled"}),
        ("timeout", {"kind": "cancelled"}),
        ("shutdown", {"kind": "interrupted", "reason": "shutdown"}),
    ],
)
def test_a_cancel_is_seen_from_a_heartbeat(
    bus: FakeBus, make_sidecar: Make, reason: str, ending: Any
) -> None:
    seen: list[str] = []

    def body(ctx: JobContext) -> None:
        bus.cancels["one"] = reason
        try:
            until_told(ctx)
        except JobCancelled as error:
            seen.append(error.reason)
            raise

    begin(bus, make_sidecar(), body)
    assert bus.end_of() == ending and seen == [reason]


def test_a_cancel_is_seen_from_any_answer_without_waiting_for_a_heartbeat(
    bus: FakeBus, make_sidecar: Make
) -> None:
    bus.heartbeat_seconds = 60

    def body(ctx: JobContext) -> None:
        bus.cancels["one"] = "user"
        ctx.checkpoint(1)
        ctx.check_cancel()

    begin(bus, make_sidecar(), body)
    assert bus.end_of() == {"kind": "cancelled"}


def test_a_handler_that_asks_is_answered_long_before_the_next_heartbeat(
    bus: FakeBus, make_sidecar: Make
) -> None:
    bus.heartbeat_seconds = 600

    def body(ctx: JobContext) -> None:
        bus.cancels["one"] = "user"
        until_told(ctx)

    begin(bus, make_sidecar(), body)
    assert bus.end_of() == {"kind": "cancelled"}


def test_no_except_exception_swallows_a_cancel(bus: FakeBus, make_sidecar: Make) -> None:
    def body(ctx: JobContext) -> str:
        bus.cancels["one"] = "user"
        try:
            until_told(ctx)
        except Exception:
            return "swallowed"
        return "?"

    begin(bus, make_sidecar(), body)
    assert bus.end_of() == {"kind": "cancelled"}


@pytest.mark.parametrize("grouped", [False, True])
def test_a_cancel_leaves_an_async_handler_too(bus: FakeBus, make_sidecar: Make, grouped: bool) -> None:
    async def wait_for_cancel(ctx: JobContext) -> None:
        while True:
            ctx.check_cancel()
            await asyncio.sleep(0.005)

    async def body(ctx: JobContext) -> None:
        bus.cancels["one"] = "user"
        if not grouped:
            await wait_for_cancel(ctx)
        async with asyncio.TaskGroup() as group:
            group.create_task(wait_for_cancel(ctx))
            group.create_task(asyncio.sleep(60))

    begin(bus, make_sidecar(), body)
    assert bus.end_of() == {"kind": "cancelled"}


def test_a_fault_of_its_own_does_not_end_the_fetching_of_jobs(bus: FakeBus, make_sidecar: Make) -> None:
    sidecar = make_sidecar(concurrency=1)
    make_run, faults = sidecar.make_run, ["once"]

    def faulty(*args: Any, **kwargs: Any) -> Any:
        if faults:
            raise RuntimeError(faults.pop())
        return make_run(*args, **kwargs)

    sidecar.make_run = faulty  # type: ignore[method-assign]
    bus.offer("work", job_id="odd")
    begin(bus, sidecar, lambda ctx: "done")
    assert bus.end_of()["result"] == "done" and "odd" not in bus.ended


@pytest.mark.parametrize("write", ["progress", "checkpoint", "merge", "check_cancel"])
def test_without_its_lease_a_run_writes_nothing_more(bus: FakeBus, make_sidecar: Make, write: str) -> None:
    lost = threading.Event()

    def body(ctx: JobContext) -> str:
        bus.stale.add("one")
        try:
            while True:
                {
                    "progress": lambda: ctx.progress(1, 2),
                    "checkpoint": lambda: ctx.checkpoint(1),
                    "merge": lambda: ctx.merge(a=1),
                    "check_cancel": ctx.check_cancel,
                }[write]()
                threading.Event().wait(0.005)
        except LeaseLost:
            lost.set()
            return "late"

    sidecar = make_sidecar()
    begin(bus, sidecar, body)
    assert lost.wait(10)
    assert sidecar.roster.wait_empty(10)
    assert bus.ended == {} and bus.calls("jobs.update_status") == []


def test_a_run_that_hears_nothing_for_most_of_a_lease_stops(bus: FakeBus, make_sidecar: Make) -> None:
    bus.lease_seconds, bus.heartbeat_seconds = 0.6, 60.0
    seen: list[str] = []
    sidecar = make_sidecar()
    sidecar.heartbeats.learn(60.0, 0.6)
    sidecar.heartbeats.ask = lambda run: None  # type: ignore[method-assign]

    def body(ctx: JobContext) -> Any:
        try:
            until_told(ctx)
        except JobCancelled as error:
            seen.append(error.reason)
            raise

    begin(bus, sidecar, body)
    assert bus.end_of() == {"kind": "interrupted", "reason": "shutdown"} and seen == ["shutdown"]


def test_a_newer_run_of_the_same_job_ends_the_older(bus: FakeBus, make_sidecar: Make) -> None:
    leases: list[int] = []

    def body(ctx: JobContext) -> int:
        leases.append(ctx.lease)
        if ctx.lease == 1:
            bus.offer("work", lease=2)
            until_told(ctx)
        return ctx.lease

    begin(bus, make_sidecar(), body)
    assert bus.end_of() == {"kind": "completed", "result": 2} and leases == [1, 2]
    assert len(bus.calls("jobs.update_status")) == 1


def test_a_drain_lets_a_run_finish(bus: FakeBus, make_sidecar: Make) -> None:
    started, go = threading.Event(), threading.Event()

    def body(ctx: JobContext) -> str:
        started.set()
        go.wait(10)
        return "finished"

    sidecar = make_sidecar(grace_seconds=20)
    begin(bus, sidecar, body)
    assert started.wait(10)
    stopping = threading.Thread(target=sidecar.stop)
    stopping.start()
    bus.wait_for(lambda: any(beat["stopping"] for beat in bus.calls("jobs.heartbeat")))
    bus.offer("work", job_id="late")
    go.set()
    stopping.join(10)
    assert bus.end_of()["result"] == "finished"
    assert "late" not in bus.ended or bus.ended["late"]["kind"] == "interrupted"
    last = bus.calls("jobs.heartbeat")[-1]
    assert last["stopping"] and last["running"] == []


@pytest.mark.parametrize("deaf", [False, True])
def test_a_drain_interrupts_what_does_not_finish(bus: FakeBus, make_sidecar: Make, deaf: bool) -> None:
    started, end = threading.Event(), threading.Event()

    def body(ctx: JobContext) -> None:
        started.set()
        if deaf:
            end.wait(10)
        else:
            until_told(ctx)

    sidecar = make_sidecar(concurrency=1, grace_seconds=0.3)
    begin(bus, sidecar, body)
    assert started.wait(10)
    sidecar.stop()
    assert bus.end_of() == {"kind": "interrupted", "reason": "shutdown"}
    end.set()
    assert sidecar.roster.wait_empty(10)
    assert len(bus.calls("jobs.update_status")) == 1


def test_what_no_thread_has_begun_goes_back(bus: FakeBus, make_sidecar: Make) -> None:
    sidecar = make_sidecar(concurrency=1, grace_seconds=0.2)
    sidecar.job("work")(lambda ctx: Snooze(1))
    sidecar.crew.start = lambda: None  # type: ignore[method-assign]
    bus.offer("work")
    sidecar.start()
    bus.wait_for(sidecar.roster.all)
    sidecar.stop()
    assert bus.end_of() == {"kind": "interrupted", "reason": "shutdown"}
