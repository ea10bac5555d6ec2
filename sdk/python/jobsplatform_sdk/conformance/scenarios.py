"""The job types that the pack drives, for any runner with ``@job``: a sidecar of this package, or the platform itself.

A sidecar in another language runs types of the same names that do the same.
"""

from __future__ import annotations

import threading
from collections.abc import Callable
from typing import Any

GATE_SECONDS = 0.05
"""How often ``conf.gate`` looks whether it may go on."""

TYPES = (
    "conf.checkpoint",
    "conf.children",
    "conf.deferred",
    "conf.discard",
    "conf.echo",
    "conf.fail",
    "conf.gate",
    "conf.merge",
    "conf.pause",
    "conf.progress",
    "conf.retry",
    "conf.slow",
    "conf.snooze",
)

Declare = Callable[..., Callable[[Callable[..., Any]], Any]]


def declare(job: Declare, api: Any) -> None:
    """Declare all types by ``job``. ``api`` has Child, Outcome and the endings: ``jobsplatform_sdk`` (or
    ``jobsplatform``, whose handlers look the same)."""
    _endings(job, api)
    _running(job, api)
    _families(job, api)


def _endings(job: Declare, api: Any) -> None:
    @job("conf.echo")
    def echo(ctx: Any, value: Any = None) -> Any:
        """Gives back what it was given, and what it was told of its run."""
        return {"value": value, "attempt": ctx.attempt, "user_id": ctx.user_id, "reason": ctx.run_reason}

    @job("conf.fail", max_attempts=2, backoff=0.05)
    def fail(ctx: Any, message: str, retryable: bool = False) -> None:
        """Fails: for good, or in each attempt."""
        raise api.Fail(message, retryable=retryable)

    @job("conf.retry", max_attempts=5)
    def retry(ctx: Any, times: int) -> Any:
        """Asks to be run again so many times."""
        if ctx.attempt <= times:
            raise api.Retry(0.05, "not yet")
        return {"attempt": ctx.attempt}

    @job("conf.snooze", max_attempts=1)
    def snooze(ctx: Any, times: int) -> Any:
        """Is run later so many times; no attempt is used."""
        snoozed = ctx.data.get("snoozed", 0)
        if snoozed < times:
            ctx.merge(snoozed=snoozed + 1)
            raise api.Snooze(0.05, "not yet")
        return {"attempt": ctx.attempt, "snoozed": snoozed}

    @job("conf.discard")
    def discard(ctx: Any, reason: str) -> None:
        """Is not wanted any more."""
        raise api.Discard(reason)

    @job("conf.pause", backoff=0.05)
    def pause(ctx: Any, retryable: bool) -> Any:
        """Pauses in its first run."""
        if ctx.cursor is None:
            ctx.checkpoint("paused once")
            raise api.Pause("no disk", retryable=retryable)
        return ctx.cursor

    @job("conf.deferred")
    def deferred(ctx: Any, seconds: float = 60.0) -> None:
        """Is finished from outside, within so many seconds."""
        ctx.progress(1, 3, "sent off")
        raise api.Deferred(seconds)


def _running(job: Declare, api: Any) -> None:
    @job("conf.gate", max_attempts=50, backoff=0.5)
    def gate(ctx: Any) -> Any:
        """Works until its data says ``go``, or until it is asked to stop. Its cursor counts its runs."""
        runs = (ctx.cursor or 0) + 1
        ctx.checkpoint(runs)
        ctx.progress(runs, None, "at the gate")
        while not ctx.merge(runs=runs).get("go"):
            ctx.check_cancel()
            threading.Event().wait(GATE_SECONDS)
        return {"runs": runs, "attempt": ctx.attempt}

    @job("conf.slow", max_attempts=1, timeout=30, soft_timeout=0.5)
    def slow(ctx: Any) -> None:
        """Works past its soft time limit until it is asked to stop."""
        while True:
            ctx.check_cancel()
            threading.Event().wait(GATE_SECONDS)

    @job("conf.progress")
    def progress(ctx: Any, steps: int) -> Any:
        """Tells its progress much more often than it can be written."""
        for step in range(1, steps + 1):
            ctx.progress(step, steps, f"step {step}")
        return api.Outcome({"steps": steps}, count=steps, extra={"quick": True})

    @job("conf.checkpoint", max_attempts=5)
    def checkpoint(ctx: Any, steps: int, fail_at: int) -> Any:
        """Saves each step, and stops once before ``fail_at``; goes on from there."""
        begun_at = ctx.cursor or 0
        for step in range(begun_at + 1, steps + 1):
            if step == fail_at and not begun_at:
                raise api.Retry(0.05, "interrupted on purpose")
            ctx.checkpoint(step)
        return {"begun_at": begun_at, "attempt": ctx.attempt}

    @job("conf.merge")
    def merge(ctx: Any, first: dict[str, Any], second: dict[str, Any]) -> Any:
        """Puts both over its data; gives the whole back."""
        ctx.merge(**first)
        return dict(ctx.merge(**second))


def _families(job: Declare, api: Any) -> None:
    @job("conf.children")
    def children(ctx: Any, values: list[int], failing: int = 0, on_failure: str = "fail") -> None:
        """A child ``conf.echo`` for each value, and so many ``conf.fail``; it spawns them twice over."""
        wanted = [api.Child("conf.echo", {"value": v}, f"v{v}") for v in values]
        wanted += [api.Child("conf.fail", {"message": "child"}, f"f{n}") for n in range(failing)]
        first = ctx.spawn(wanted, on_failure=on_failure)
        if list(ctx.spawn(wanted, on_failure=on_failure)) != list(first):
            raise api.Fail("the same children were made twice", retryable=False)

    @children.continuation
    def gather(ctx: Any) -> Any:
        ended = sorted(ctx.children, key=lambda child: child.key)
        return {child.key: [str(child.state), (child.result or {}).get("value")] for child in ended}
