"""How a run ends, whatever its handler returns or raises."""

import asyncio
import pickle
import signal
import threading
from collections.abc import Callable, Iterator
from datetime import date, timedelta
from decimal import Decimal
from types import SimpleNamespace
from typing import Any

import pytest
from asgiref.sync import sync_to_async
from celery.exceptions import SoftTimeLimitExceeded

from jobsplatform.kernel import config
from tasks import executor, registry
from tasks.context import ChildResult, JobContext
from tasks.handlers import FunctionHandler, job
from tasks.outcomes import (
    Deferred,
    Discard,
    Ending,
    Fail,
    JobCancelled,
    LeaseLost,
    Outcome,
    Pause,
    Retry,
    Snooze,
)
from tasks.states import CancelReason, Cause, State
from tests.pure.handlers.ports import NotedPort, context


@pytest.fixture(autouse=True)
def own_registry() -> Iterator[None]:
    with registry.preserved():
        yield


@pytest.fixture(autouse=True)
def no_database(monkeypatch: pytest.MonkeyPatch) -> None:
    """Connections that other tests left open are none of a pure test's business."""
    sound = SimpleNamespace(
        alias="default",
        in_atomic_block=False,
        errors_occurred=False,
        autocommit=True,
        settings_dict={"AUTOCOMMIT": True},
    )
    monkeypatch.setattr(executor, "opened_here", lambda: [sound])
    monkeypatch.setattr(executor, "close_broken", lambda alias: None)  # asked after a run of a second


def handler_of(function: Callable[..., Any], **options: Any) -> FunctionHandler[..., Any]:
    return job("tests.one", **options)(function)


def ending_of(function: Callable[..., Any], params: dict[str, Any] | None = None) -> Ending:
    handler = handler_of(function)
    try:
        return executor.execute(handler, context(handler.schema.normalise(params or {})), continuing=False)
    finally:
        registry.unregister(handler.spec.key)


def raising(error: BaseException) -> Callable[[], None]:
    def handler() -> None:
        raise error

    return handler


def returning(value: Any) -> Callable[[], Any]:
    def handler() -> Any:
        return value

    return handler


def returning_call(function: Callable[[], Any]) -> Callable[[], Any]:
    def handler() -> Any:
        return function()

    return handler


# -- good ends -------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("answer", "ending"),
    [
        (None, Ending("completed")),
        ({"rows": (1, 2)}, Ending("completed", result={"rows": [1, 2]})),
        (0, Ending("completed", result=0)),
        (
            Outcome("ok", count=3, extra={"mb": 1.5}),
            Ending("completed", result="ok", count=3, extra={"mb": 1.5}),
        ),
        (Snooze(5), Ending("snoozed", after=5.0)),
        (Discard("not wanted"), Ending("discarded", reason="not wanted")),
        (Pause("disk full", retryable=True), Ending("paused", reason="disk full")),
        (Pause("look at it"), Ending("paused", reason="look at it", retryable=False)),
        (Deferred(timedelta(hours=1)), Ending("deferred", deadline=3600.0)),
        (
            Retry(5, "busy"),
            Ending("retry", cause=Cause.HANDLER, error_type="Retry", error="busy", after=5.0, reason="busy"),
        ),
    ],
)
def test_what_a_handler_returns(answer: Any, ending: Ending) -> None:
    assert ending_of(returning(answer)) == ending


@pytest.mark.parametrize(
    ("error", "kind", "reason"),
    [
        (Snooze(5, "later"), "snoozed", "later"),
        (Discard("gone"), "discarded", "gone"),
        (Pause("full"), "paused", "full"),
        (Deferred(5), "deferred", ""),
        (Retry(reason="busy"), "retry", "busy"),
        (JobCancelled(CancelReason.USER), "cancelled", "user"),
        (JobCancelled(CancelReason.PREEMPTED), "cancelled", "preempted"),
        (LeaseLost(), "stale", ""),
    ],
)
def test_what_steers_a_job_may_be_raised(error: BaseException, kind: str, reason: str) -> None:
    ending = ending_of(raising(error))
    assert (ending.kind, ending.reason) == (kind, reason)


def test_params_reach_the_handler_as_they_were_given() -> None:
    got: list[Any] = []

    def handler(ctx: JobContext, day: date, price: Decimal = Decimal("0.10")) -> str:
        got.extend([ctx.attempt, day, price])
        return ctx.job_type

    assert ending_of(handler, {"day": date(2026, 1, 2)}).result == "tests.one"
    assert got == [1, date(2026, 1, 2), Decimal("0.10")]
    assert str(got[2]) == "0.10"


def test_stored_params_that_no_longer_fit_are_a_failure() -> None:
    def handler(day: date) -> None: ...

    ending = executor.execute(handler_of(handler), context({"day": "soon"}), continuing=False)
    assert (ending.kind, ending.cause, ending.error_type) == ("failed", Cause.HANDLER, "ParamsInvalid")
    assert "'day'" in ending.error


# -- failures --------------------------------------------------------------------------------------------


class NeedsMore(Exception):
    def __init__(self, code: int, *, extra: str) -> None:
        super().__init__(code)
        self.extra = extra
        self.lock = threading.Lock()


class Mute(Exception):
    def __str__(self) -> str:
        raise ValueError("no words")


def test_a_failure_is_told_as_text() -> None:
    ending = ending_of(raising(ValueError("bad\0 text \ud800")))
    assert (ending.kind, ending.cause) == ("failed", Cause.HANDLER)
    assert (ending.error_type, ending.error) == ("ValueError", "bad\ufffd text \ufffd")
    assert ending.traceback.startswith("Traceback")
    assert "in handler" in ending.traceback
    assert "tasks/executor.py" not in ending.traceback
    assert ending.retryable


@pytest.mark.parametrize(
    ("error", "type_name", "text"),
    [
        (NeedsMore(7, extra="x"), "NeedsMore", "7"),
        (Mute(), "Mute", "(a Mute whose text cannot be read: ValueError)"),
        (TimeoutError(), "TimeoutError", "TimeoutError"),
        (KeyError("name"), "KeyError", "'name'"),
        (ExceptionGroup("several", [ValueError("a")]), "ExceptionGroup", "several (1 sub-exception)"),
        (StopIteration(3), "StopIteration", "3"),
    ],
)
def test_exceptions_that_do_not_travel_are_failures_like_others(
    error: Exception, type_name: str, text: str
) -> None:
    ending = ending_of(raising(error))
    assert (ending.kind, ending.cause) == ("failed", Cause.HANDLER)
    assert (ending.error_type, ending.error) == (type_name, text)
    pickle.dumps(ending)


def deep(n: int = 0) -> int:
    return deep(n + 1)


@pytest.mark.parametrize(
    "error",
    [
        MemoryError("5 GiB"),
        RecursionError("too deep"),
        SystemExit(1),
        SystemExit("bye"),
        SystemExit(-1),
        KeyboardInterrupt(),
        GeneratorExit(),
        asyncio.CancelledError(),
        BaseExceptionGroup("several", [KeyboardInterrupt()]),
    ],
)
def test_what_no_handler_should_raise_is_contained_as_panicked(error: BaseException) -> None:
    ending = ending_of(raising(error))
    assert (ending.kind, ending.cause, ending.error_type) == ("failed", Cause.PANICKED, type(error).__name__)
    assert ending.error


def test_a_real_endless_recursion_is_contained_and_the_next_job_runs() -> None:
    ending = ending_of(returning_call(deep))
    assert (ending.cause, ending.error_type) == (Cause.PANICKED, "RecursionError")
    assert len(ending.traceback) <= 50_000
    assert ending_of(returning(1)) == Ending("completed", result=1)


def test_five_memory_errors_in_a_row_do_not_stop_the_next_job() -> None:
    for _ in range(5):
        assert ending_of(raising(MemoryError())).cause is Cause.PANICKED
    assert ending_of(returning(1)).kind == "completed"


def test_the_pools_own_exit_is_not_the_handlers() -> None:
    with pytest.raises(SystemExit):
        ending_of(raising(SystemExit(-(256 - 15))))


def test_long_errors_are_cut_with_both_ends_of_the_traceback() -> None:
    def outermost() -> None:
        raise ValueError("x" * 1_000_000 + "the end")

    ending = ending_of(outermost)
    assert len(ending.error) == 10_000 and "(cut; 1000007 characters)" in ending.error
    assert len(ending.traceback) <= 50_000
    assert "in outermost" in ending.traceback and ending.traceback.rstrip().endswith("the end")


def test_fail_says_whether_another_try_makes_sense() -> None:
    ending = ending_of(raising(Fail("no such account", retryable=False)))
    assert (ending.kind, ending.error_type, ending.error) == ("failed", "Fail", "no such account")
    assert not ending.retryable
    assert ending_of(raising(Fail("try again"))).retryable


def test_a_retry_for_an_exception_that_cannot_be_rebuilt() -> None:
    def handler() -> None:
        try:
            raise NeedsMore(7, extra="x")
        except NeedsMore as error:
            raise Retry(1, reason=error) from error  # type: ignore[arg-type]

    ending = ending_of(handler)
    assert (ending.kind, ending.after, ending.error, ending.reason) == ("retry", 1.0, "7", "7")
    assert "NeedsMore" in ending.traceback
    pickle.dumps(ending)


# -- results that cannot be stored -----------------------------------------------------------------------


class Row:
    """Looks like a database row."""

    _meta = object()
    pk = 1


@pytest.mark.parametrize(
    ("answer", "words"),
    [
        ({"a": 1.5, "b": float("nan"), "c": float("-inf")}, "result: b is NaN"),
        ({"t": "ab\0cd"}, "result: t has a NUL"),
        ({"s": "\ud800"}, "lone surrogate"),
        ({"n": 10**400}, "result: n is a whole number of 1329 bits"),
        ({"d": date(2026, 1, 1)}, "result: d is a date"),
        ({1: "a"}, "has the key 1"),
        (b"raw", "result is a bytes"),
        (Row(), "It is a database row: use its id"),
        (ValueError("returned, not raised"), "result is a ValueError"),
        (Outcome(count=1.5), "count: expected a whole number, got 1.5"),  # type: ignore[arg-type]
        (Outcome(count=2**63), "count: expected a whole number"),
        (Outcome(extra=[1]), "extra: expected a dict"),  # type: ignore[arg-type]
        (Outcome(extra={"x": float("inf")}), "extra: x is Infinity"),
    ],
)
def test_a_result_that_cannot_be_stored_fails_the_run_naming_the_key(answer: Any, words: str) -> None:
    ending = ending_of(returning(answer))
    assert (ending.kind, ending.cause, ending.error_type) == ("failed", Cause.HANDLER, "ResultInvalid")
    assert words in ending.error
    assert not ending.retryable
    assert ending.result is None


def test_a_result_past_the_limit_fails_the_run() -> None:
    with config.override(tasks={"result_max_bytes": 100}):
        assert "at most 100 are stored" in ending_of(returning("x" * 200)).error


def test_a_coroutine_or_generator_returned_unrun_is_told() -> None:
    async def work() -> int:
        return 1

    ending = ending_of(returning_call(work))
    assert "never awaited" in ending.error
    ending = ending_of(lambda: (n for n in range(3)))
    assert "Nothing of it has run" in ending.error


# -- time limits and cancels -----------------------------------------------------------------------------


def test_the_soft_limit_is_a_timeout_however_it_is_seen() -> None:
    for error in (SoftTimeLimitExceeded(), JobCancelled(CancelReason.TIMEOUT)):
        ending = ending_of(raising(error))
        assert (ending.kind, ending.cause) == ("failed", Cause.TIMEOUT)


def test_a_handler_that_swallows_its_cancel_says_completed() -> None:
    """What becomes of it is decided by whoever writes the end, from the row's cancel flag."""

    def handler(ctx: JobContext) -> str:
        try:
            ctx.check_cancel()
        except BaseException:
            return "went on"
        return "no cancel"

    port = NotedPort()
    port.reason = CancelReason.USER
    ending = executor.execute(handler_of(handler), context(port=port), continuing=False)
    assert ending == Ending("completed", result="went on")


# -- async -----------------------------------------------------------------------------------------------


def test_an_async_handler_is_awaited_with_sync_code_in_the_calling_thread() -> None:
    async def handler(ctx: JobContext, n: int) -> dict[str, Any]:
        await asyncio.sleep(0)
        ctx.progress(1, 2)
        return {"n": n, "thread": await sync_to_async(threading.get_ident)()}

    ending = ending_of(handler, {"n": 3})
    assert ending.result == {"n": 3, "thread": threading.get_ident()}


def test_async_handlers_fail_and_stop_like_others() -> None:
    async def fails() -> None:
        raise ValueError("async")

    async def stops(ctx: JobContext) -> None:
        async with asyncio.TaskGroup() as group:
            group.create_task(asyncio.sleep(60))
            group.create_task(checks(ctx))

    async def checks(ctx: JobContext) -> None:
        ctx.check_cancel()

    assert ending_of(fails).error == "async"
    port = NotedPort()
    port.reason = CancelReason.USER
    ending = executor.execute(handler_of(stops), context(port=port), continuing=False)
    assert (ending.kind, ending.reason) == ("cancelled", "user")


def test_an_interrupted_async_handler_does_not_go_on_behind_its_run() -> None:
    """A soft limit interrupts the calling thread while the coroutine waits in its loop's thread."""
    waiting, left = threading.Event(), threading.Event()

    async def handler() -> None:
        try:
            waiting.set()
            await asyncio.sleep(60)
        finally:
            left.set()

    ending = run_interrupted(handler, waiting)
    assert (ending.kind, ending.cause) == ("failed", Cause.TIMEOUT)
    assert left.is_set()


def run_interrupted(function: Callable[..., Any], ready: threading.Event) -> Ending:
    """Run it here, and send this thread a signal once it waits."""

    def on_signal(signum: int, frame: object) -> None:
        raise SoftTimeLimitExceeded

    before = signal.signal(signal.SIGUSR1, on_signal)
    main = threading.get_ident()

    def send() -> None:
        ready.wait(10)
        signal.pthread_kill(main, signal.SIGUSR1)

    sender = threading.Thread(target=send)
    sender.start()
    try:
        return ending_of(function)
    finally:
        sender.join()
        signal.signal(signal.SIGUSR1, before)


# -- continuations ---------------------------------------------------------------------------------------


def test_the_continuation_sees_the_children_and_the_params_it_names() -> None:
    def parent(ctx: JobContext, root: str, depth: int = 1) -> None: ...

    handler = handler_of(parent)

    @handler.continuation
    def add_up(ctx: JobContext, root: str) -> Any:
        return [root, [child.result for child in ctx.children]]

    ctx = context({"root": "/a", "depth": 1})
    ctx.children = [ChildResult(str(n), ctx.id, State.COMPLETED, result=n) for n in range(3)]
    assert handler.has_continuation
    assert executor.execute(handler, ctx, continuing=True).result == ["/a", [0, 1, 2]]


def test_a_continuation_that_a_newer_release_removed_completes_the_parent() -> None:
    def parent() -> str:
        return "must not run again"

    assert executor.execute(handler_of(parent), context(), continuing=True) == Ending("completed")
