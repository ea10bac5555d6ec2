"""Performs runs and tells how they ended."""

from __future__ import annotations

import logging
from collections.abc import Callable, Mapping
from typing import Any

from jobsplatform_sdk import clock, endings
from jobsplatform_sdk.context import JobContext
from jobsplatform_sdk.endings import Ending
from jobsplatform_sdk.errors import BusError, Refused
from jobsplatform_sdk.handlers import Handler
from jobsplatform_sdk.outcomes import LeaseLost
from jobsplatform_sdk.runs import Run

logger = logging.getLogger("jobsplatform_sdk.sidecar")

TELL_SECONDS = 600.0
"""For so long an end is told again and again to a platform that does not answer."""


def perform(handler: Handler[Any, Any], run: Run) -> Ending:
    """Call the handler; no exception of it escapes, whatever it is."""
    try:
        return endings.read_answer(handler.run(JobContext(run), continuing=run.assignment.continuing))
    except BaseException as error:
        return endings.read_error(error)


def tell(run: Run, ending: Ending, *, hurry: Callable[[], bool] = lambda: False) -> bool:
    """Write the end of a run; was it written? ``hurry``: give up at the next trouble."""
    if ending.wire is None:
        return False
    if run.answer_with is not None and _answered(run, run.answer_with, ending.wire):
        return True
    until = clock.monotonic() + TELL_SECONDS

    def give_up() -> bool:
        return hurry() or clock.monotonic() > until

    try:
        try:
            run.finish(dict(ending.wire), give_up)
        except Refused as error:
            # Larger than the platform stores, mostly; running it again would give the same.
            body = {"kind": "failed", "error_type": "ResultRefused", "error": str(error), "retryable": False}
            run.finish(body, give_up)
    except LeaseLost:
        return False
    except BusError as error:
        logger.error("the end of job %s cannot be told, it will be run again: %s", run.key[0], error)
        return False
    return True


def _answered(run: Run, answer: Callable[[Mapping[str, Any]], bool], ending: Mapping[str, Any]) -> bool:
    """Has the call that brought the job taken its end?"""
    try:
        run.send_last_progress()
    except (LeaseLost, BusError) as error:
        logger.debug("the last progress of job %s is lost: %s", run.key[0], error)
    return answer(ending)


def perform_and_tell(handlers: Mapping[str, Handler[Any, Any]], run: Run, hurry: Callable[[], bool]) -> None:
    """One run from its start to its told end."""
    began = clock.monotonic()
    job_type = run.assignment.job.job_type
    handler = handlers.get(job_type)
    # A newer release of this sidecar knew it; it goes back and costs nothing.
    ending = endings.interrupted("handler unknown here") if handler is None else perform(handler, run)
    written = tell(run, ending, hurry=hurry)
    logger.info(
        "job %s (%s) %s in %.3fs%s",
        run.key[0],
        job_type,
        ending.kind,
        clock.monotonic() - began,
        "" if written else ": not written, the run is no longer the job's",
    )
