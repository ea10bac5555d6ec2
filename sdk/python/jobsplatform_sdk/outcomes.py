"""How a run may end: what a handler returns or raises. The same names as for handlers inside the platform.

A handler may return nothing, a JSON value or an ``Outcome``; it may raise (or return) ``Retry``, ``Snooze``,
``Discard``, ``Pause`` and ``Deferred``, and raise ``Fail``. Any other exception is a failure. Lengths are seconds or
a timedelta.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from datetime import timedelta
from typing import Any

LONGEST_SECONDS = 10 * 365 * 86_400
"""No wait that a handler asks for may be longer; the platform refuses more."""


def seconds_of(length: float | timedelta, what: str) -> float:
    """``length`` in seconds. Raises ValueError when it is no number, negative, or past ten years."""
    value: Any = length.total_seconds() if isinstance(length, timedelta) else length
    if isinstance(value, bool) or not isinstance(value, (int, float)):
        raise ValueError(f"{what} takes seconds or a timedelta, got {type(length).__name__}.")
    if not (0 <= value <= LONGEST_SECONDS) or math.isnan(value):
        raise ValueError(f"{what} takes 0 to {LONGEST_SECONDS} seconds (ten years), got {value!r:.40}.")
    return float(value)


@dataclass(frozen=True, slots=True)
class Outcome:
    """A good end with more to tell: the stored ``result``, a ``count`` for the outcome line, ``extra`` facts."""

    result: Any = None
    count: int | None = None
    extra: dict[str, Any] | None = None


class Directive(Exception):
    """Root of what a handler raises, or returns, to steer its job."""


class Fail(Directive):
    """The run failed: an attempt is used. ``retryable=False``: never again, whatever attempts are left."""

    def __init__(self, message: str = "", retryable: bool = True) -> None:
        super().__init__(message)
        self.message = message
        self.retryable = retryable


class Retry(Directive):
    """Run again ``after`` some seconds (by the type's backoff when None); an attempt is used.

    With no attempt left the job fails, with ``reason`` as its error.
    """

    def __init__(self, after: float | timedelta | None = None, reason: str = "") -> None:
        super().__init__(reason)
        self.after = None if after is None else seconds_of(after, "Retry(after)")
        self.reason = reason


class Snooze(Directive):
    """Run again after ``seconds``; no attempt is used, however often."""

    def __init__(self, seconds: float | timedelta, reason: str = "") -> None:
        super().__init__(reason)
        self.seconds = seconds_of(seconds, "Snooze(seconds)")
        self.reason = reason


class Discard(Directive):
    """The work is not wanted any more: the job ends cancelled, with ``reason``."""

    def __init__(self, reason: str = "") -> None:
        super().__init__(reason)
        self.reason = reason


class Pause(Directive):
    """Rest until somebody resumes the job, or by backoff when ``retryable``; no attempt is used."""

    def __init__(self, reason: str = "", retryable: bool = False) -> None:
        super().__init__(reason)
        self.reason = reason
        self.retryable = retryable


class Deferred(Directive):
    """The work goes on elsewhere and the job will be finished from outside, under its lease; past ``deadline`` (from
    now) it fails with cause ``timeout``."""

    def __init__(self, deadline: float | timedelta) -> None:
        super().__init__()
        self.deadline = seconds_of(deadline, "Deferred(deadline)")


class JobCancelled(BaseException):
    """Raised by ``check_cancel()``; let it pass. No ``except Exception`` swallows it.

    ``reason``: user, superseded, preempted, suspended, shutdown or timeout.
    """

    def __init__(self, reason: str) -> None:
        super().__init__(f"asked to stop: {reason}")
        self.reason = reason


class LeaseLost(BaseException):
    """This run is no longer the job's: it was rescued or ended by somebody else. Nothing it writes counts."""
