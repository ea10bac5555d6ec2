"""From what a handler returns or raises to the ending that is told to the platform."""

from __future__ import annotations

import inspect
import traceback
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from jobsplatform_sdk.json_values import check_json, clean_text
from jobsplatform_sdk.outcomes import (
    Deferred,
    Directive,
    Discard,
    Fail,
    JobCancelled,
    LeaseLost,
    Outcome,
    Pause,
    Retry,
    Snooze,
)

TEXT_LENGTH = 10_000
TRACEBACK_LENGTH = 50_000
REASON_LENGTH = 200
LARGEST_COUNT = 2**63 - 1


@dataclass(frozen=True, slots=True)
class Ending:
    """What to tell: the ``ending`` of ``jobs.update_status``; None: the run is not the job's any more."""

    wire: Mapping[str, Any] | None

    @property
    def kind(self) -> str:
        return "stale" if self.wire is None else str(self.wire["kind"])


STALE = Ending(None)


def read_answer(answer: Any) -> Ending:
    """The ending that a returned value means."""
    if isinstance(answer, (Directive, JobCancelled, LeaseLost)):
        return read_error(answer)
    outcome = answer if isinstance(answer, Outcome) else Outcome(answer)
    try:
        fields = {"result": check_json(outcome.result, "result"), "extra": _extra(outcome.extra)}
        count = _count(outcome.count)
    except ValueError as error:
        if inspect.iscoroutine(outcome.result) or inspect.isgenerator(outcome.result):
            outcome.result.close()
        # Running the work again would give the same answer again.
        return _failed("ResultInvalid", str(error), retryable=False)
    return Ending({"kind": "completed", **_given(**fields, count=count)})


def read_error(error: BaseException) -> Ending:
    """The ending that a raised exception means."""
    steering = next(_steering_in(error), None)
    if steering is not None:
        return _steered(steering)
    name = type(error).__name__
    return _failed(name, clean_text(error, TEXT_LENGTH) or name, told=_traceback(error))


def interrupted(reason: str) -> Ending:
    """The run was stopped by its sidecar: the job goes back, its checkpoint kept, no attempt used."""
    return Ending({"kind": "interrupted", "reason": reason})


def _steering_in(error: BaseException) -> Iterator[BaseException]:
    """What steers the job in ``error``; a task group wraps the cancel of one of its tasks in a group."""
    if isinstance(error, (Directive, JobCancelled, LeaseLost)):
        yield error
    elif isinstance(error, BaseExceptionGroup):
        for inner in error.exceptions:
            yield from _steering_in(inner)


def _steered(error: BaseException) -> Ending:
    match error:
        case JobCancelled(reason="shutdown"):
            return interrupted("shutdown")
        case JobCancelled():
            return Ending({"kind": "cancelled"})
        case Fail():
            message = clean_text(error.message, TEXT_LENGTH) or "failed"
            return _failed("Fail", message, retryable=bool(error.retryable), told=_traceback(error))
        case Retry():
            asked = clean_text(error.reason, TEXT_LENGTH) or "asked to be run again"
            return Ending({"kind": "retry", "error": asked, **_given(after=error.after)})
        case Snooze():
            return Ending({"kind": "snooze", "seconds": error.seconds, "reason": _line(error.reason)})
        case Discard():
            return Ending({"kind": "discarded", "reason": _line(error.reason)})
        case Pause():
            reason = _line(error.reason)
            return Ending({"kind": "paused", "reason": reason, "retryable": bool(error.retryable)})
        case Deferred():
            return Ending({"kind": "deferred", "deadline_seconds": error.deadline})
    return STALE


def _failed(error_type: str, message: str, *, retryable: bool = True, told: str = "") -> Ending:
    body = {"kind": "failed", "error": message, "error_type": error_type[:REASON_LENGTH]}
    return Ending({**body, "retryable": retryable, **_given(traceback=told or None)})


def _line(reason: object) -> str:
    return " ".join(clean_text(reason, REASON_LENGTH).split())


def _given(**fields: Any) -> dict[str, Any]:
    return {name: value for name, value in fields.items() if value is not None}


def _extra(extra: Any) -> dict[str, Any] | None:
    checked = check_json(extra, "extra")
    if checked is not None and not isinstance(checked, dict):
        raise ValueError(f"extra: expected a dict, got a {type(extra).__name__}.")
    return checked


def _count(count: Any) -> int | None:
    if count is None:
        return None
    if isinstance(count, bool) or not isinstance(count, int) or abs(count) > LARGEST_COUNT:
        raise ValueError(f"count: expected a whole number, got {count!r:.60}.")
    return count


def _traceback(error: BaseException) -> str:
    if error.__traceback__ is None:
        return ""
    # The first frame is this package's own call of the handler.
    start = error.__traceback__.tb_next or error.__traceback__
    try:
        whole = "".join(traceback.format_exception(type(error), error, start))
    except BaseException as problem:
        return f"{type(error).__name__} (its traceback cannot be written: {type(problem).__name__})"
    if len(whole) > TRACEBACK_LENGTH:
        half = TRACEBACK_LENGTH // 2 - 20
        whole = f"{whole[:half]}\n… (the middle is left out)\n{whole[-half:]}"
    return clean_text(whole, TRACEBACK_LENGTH)
