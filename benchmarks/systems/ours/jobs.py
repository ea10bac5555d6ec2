"""The measured job types."""

from __future__ import annotations

import time

from benchmarks import handlers
from jobsplatform import JobContext, job
from tasks.outcomes import JobCancelled

LOOK_SECONDS = 0.01


@job("bench.noop")
def noop(number: int) -> None:
    handlers.noop(number)


@job("bench.short")
def short(number: int) -> None:
    handlers.short(number)


@job("bench.busy")
def busy(number: int) -> None:
    handlers.busy(number)


@job("bench.stamp")
def stamp(number: int) -> None:
    handlers.stamp(number)


@job("bench.suspended")
def suspended(number: int) -> None:
    handlers.noop(number)


@job("bench.polite")
def polite(context: JobContext, number: int) -> None:
    """Stamps its start under its number, and under the negative one when it sees its cancel."""
    handlers.stamp(number)
    try:
        while True:
            context.check_cancel()
            time.sleep(LOOK_SECONDS)
    except JobCancelled:
        handlers.stamp(-number)
        raise
