"""Run a handler once and say how it ended. Writes nothing: whoever called does, with the run's lease.

A straight line: call, read the answer or the exception, leave the database connections clean.
"""

from __future__ import annotations

import inspect
import logging
from collections.abc import Iterator
from typing import Any

from celery.exceptions import SoftTimeLimitExceeded

from jobsplatform.kernel import clock, config
from jobsplatform.kernel.db import FRESH_SECONDS, close_broken, holds_transaction, is_sound, opened_here
from jobsplatform.kernel.errors import InvalidInput
from tasks import async_run, handlers
from tasks.context import JobContext
from tasks.error_text import text_of, traceback_of, type_of
from tasks.json_values import LARGEST_INT, SMALLEST_INT, check_json, shown
from tasks.outcomes import (
    Deferred,
    Directive,
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
from tasks.spec import JobHandler, ReadsErrors
from tasks.states import CancelReason, Cause

logger = logging.getLogger("jobsplatform.executor")

REASON_LENGTH = 200
COMPLETED = Ending("completed")
_HIDDEN = frozenset({__file__, handlers.__file__, async_run.__file__})
# What the pool's own signal handler exits with (billiard: -(256 - signal)): the process is to end.
_POOL_EXITS = range(-255, -191)


def execute(handler: JobHandler, context: JobContext, *, continuing: bool) -> Ending:
    """Run ``handler`` (its continuation when ``continuing``) to an ending, whatever it returns or raises.

    No exception of the handler escapes. Only the SystemExit by which the pool ends this process does: its
    parent writes what became of the run.
    """
    began, default = clock.monotonic(), opened_here()[0]
    inside = holds_transaction(default)
    try:
        ending = _attempt(handler, context, continuing)
    except SoftTimeLimitExceeded as error:
        # The signal came after the handler had returned, before its answer was read.
        ending = _timed_out(error)
    if inside:
        return ending
    left_open = holds_transaction(default)
    # A connection that was in order before a short run is taken to be there still; the server is not asked.
    fresh = clock.monotonic() - began < FRESH_SECONDS
    for connection in opened_here():
        if not (fresh and is_sound(connection)):
            close_broken(connection.alias)
    if left_open and ending.kind == "completed":
        return _failed(
            "TransactionLeftOpen",
            "The handler returned inside a transaction that it had opened; what it wrote in it was rolled "
            "back. Close it: with transaction.atomic(): …",
        )
    return ending


def _attempt(handler: JobHandler, context: JobContext, continuing: bool) -> Ending:
    try:
        if not continuing:
            answer = handler.run(context)
        elif handler.has_continuation:
            answer = handler.run_continuation(context)
        else:
            return COMPLETED  # a newer release has none any more; the children have done the work
        return read_answer(answer)
    except BaseException as error:
        if _is_pool_exit(error):
            raise
        ending = read_error(error)
        return handler.ending_of(error, ending) if isinstance(handler, ReadsErrors) else ending


def read_answer(answer: Any) -> Ending:
    """The ending that a returned value means."""
    if answer is None:
        return COMPLETED
    if isinstance(answer, (Directive, JobCancelled, LeaseLost)):
        return read_error(answer)
    outcome = answer if isinstance(answer, Outcome) else Outcome(answer)
    limit = config.get().tasks.result_max_bytes
    try:
        count = _count(outcome.count)
        result = check_json(outcome.result, what="result", max_bytes=limit)
        extra = check_json(outcome.extra, what="extra", max_bytes=limit)
        if extra is not None and not isinstance(extra, dict):
            raise InvalidInput(f"extra: expected a dict, got {shown(outcome.extra)}.")
    except InvalidInput as error:
        _dismiss(outcome.result)
        # Running the work again would give the same answer again.
        return _failed("ResultInvalid", error.message, retryable=False)
    return Ending("completed", result=result, count=count, extra=extra)


def read_error(error: BaseException) -> Ending:
    """The ending that a raised exception means."""
    steering = next(_steering_in(error), None)
    if steering is not None:
        return _steered(steering)
    panicked = not isinstance(error, Exception) or isinstance(error, (MemoryError, RecursionError))
    return Ending(
        "failed",
        cause=Cause.PANICKED if panicked else Cause.HANDLER,
        error_type=type_of(error),
        error=text_of(error) or type_of(error),
        traceback=traceback_of(error, _HIDDEN),
    )


def _steering_in(error: BaseException) -> Iterator[BaseException]:
    """What steers the job in ``error``; a task group wraps the cancel of one of its tasks in a group."""
    if isinstance(error, (Directive, JobCancelled, LeaseLost, SoftTimeLimitExceeded)):
        yield error
    elif isinstance(error, BaseExceptionGroup):
        for inner in error.exceptions:
            yield from _steering_in(inner)


def _steered(error: BaseException) -> Ending:
    match error:
        case LeaseLost():
            return Ending("stale")
        case JobCancelled(reason=CancelReason.TIMEOUT) | SoftTimeLimitExceeded():
            return _timed_out(error)
        case JobCancelled():
            return Ending("cancelled", cause=Cause.CANCELLED, reason=str(error.reason))
        case Fail():
            return Ending(
                "failed",
                cause=Cause.HANDLER,
                error_type=type_of(error),
                error=text_of(error.message) or "failed",
                traceback=traceback_of(error, _HIDDEN),
                retryable=bool(error.retryable),
            )
        case Retry():
            reason = text_of(error.reason, REASON_LENGTH)
            return Ending(
                "retry",
                cause=Cause.HANDLER,
                error_type=type_of(error),
                error=text_of(error.reason) or "asked to be run again",
                traceback=traceback_of(error, _HIDDEN) if error.__traceback__ else "",
                after=error.after,
                reason=reason,
            )
        case Snooze():
            return Ending("snoozed", after=error.seconds, reason=text_of(error.reason, REASON_LENGTH))
        case Discard():
            return Ending("discarded", reason=text_of(error.reason, REASON_LENGTH))
        case Pause():
            return Ending(
                "paused", reason=text_of(error.reason, REASON_LENGTH), retryable=bool(error.retryable)
            )
        case Deferred():
            return Ending("deferred", deadline=error.deadline)
    return _failed(type_of(error), text_of(error))


def _failed(error_type: str, message: str, *, retryable: bool = True) -> Ending:
    return Ending(
        "failed", cause=Cause.HANDLER, error_type=error_type, error=text_of(message), retryable=retryable
    )


def _timed_out(error: BaseException) -> Ending:
    return Ending(
        "failed",
        cause=Cause.TIMEOUT,
        error_type=type_of(error),
        error="ran past its soft time limit",
        traceback=traceback_of(error, _HIDDEN),
    )


def _is_pool_exit(error: BaseException) -> bool:
    return isinstance(error, SystemExit) and isinstance(error.code, int) and error.code in _POOL_EXITS


def _count(count: Any) -> int | None:
    if count is None:
        return None
    if isinstance(count, bool) or not isinstance(count, int) or not SMALLEST_INT <= count <= LARGEST_INT:
        raise InvalidInput(f"count: expected a whole number, got {shown(count)}.")
    return int(count)


def _dismiss(answer: Any) -> None:
    """Close what was returned unrun, so that Python does not complain of it later, elsewhere."""
    if inspect.iscoroutine(answer) or inspect.isgenerator(answer):
        answer.close()
