"""The end of a run as a sidecar says it, as the platform writes it."""

from __future__ import annotations

from typing import Any

from pydantic import TypeAdapter

from jobsplatform.kernel import clock
from tasks import remote
from tasks.bus.deferring import deferred_seconds
from tasks.bus.running_schemas import (
    AnyEnding,
    Cancelled,
    Completed,
    DeferredEnding,
    Discarded,
    Failed,
    Interrupted,
    Paused,
    Retry,
    Snooze,
)
from tasks.models import Job
from tasks.outcomes import Ending
from tasks.states import INTERRUPTIONS, CancelReason, Cause

_SAID: TypeAdapter[Any] = TypeAdapter(AnyEnding)


def read(answer: dict[str, Any], job: Job) -> Ending:
    """The ending that a sidecar has answered with; completed when it names no kind. Raises ValidationError."""
    return ending_of(_SAID.validate_python({"kind": "completed", **answer}), job)


def ending_of(said: AnyEnding, job: Job) -> Ending:
    """The ending that ``said`` means for this job as it stands."""
    match said:
        case Completed():
            return Ending("completed", result=said.result, count=said.count, extra=said.extra)
        case Failed():
            return Ending(
                "failed",
                cause=Cause.HANDLER,
                error=said.error or "failed",
                error_type=said.error_type or "Fail",
                traceback=said.traceback,
                retryable=said.retryable,
            )
        case Retry():
            error = said.error or "asked to be run again"
            return Ending(
                "retry", cause=Cause.HANDLER, after=said.after, error=error, reason=said.error[:200]
            )
        case Snooze():
            return Ending("snoozed", after=said.seconds, reason=said.reason)
        case Discarded():
            return Ending("discarded", reason=said.reason)
        case Paused():
            return Ending("paused", reason=said.reason, retryable=said.retryable)
        case DeferredEnding():
            seconds = said.deadline_seconds or deferred_seconds(job)
            return Ending("deferred", deadline=seconds)
        case Cancelled():
            return _cancelled(job)
        case Interrupted():
            asked = said.reason if said.reason in INTERRUPTIONS else CancelReason.SHUTDOWN
            return Ending("cancelled", cause=Cause.CANCELLED, reason=asked)


def _cancelled(job: Job) -> Ending:
    """What it was asked for decides, be it by its soft time limit; nobody asked: its sidecar did not want it."""
    asked = remote.cancel_of(job, clock.now())
    if asked:
        return Ending("cancelled", cause=Cause.CANCELLED, reason=asked)
    return Ending("discarded", reason="cancelled by its sidecar")
