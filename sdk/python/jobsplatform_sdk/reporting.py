"""Sends progress, coalesced, and asks for those runs whose heartbeats nobody answers."""

from __future__ import annotations

import logging
from collections.abc import Mapping
from typing import Any

from jobsplatform_sdk import clock
from jobsplatform_sdk.errors import BusError
from jobsplatform_sdk.handlers import Handler
from jobsplatform_sdk.outcomes import LeaseLost
from jobsplatform_sdk.roster import Roster, Service
from jobsplatform_sdk.runs import Run

logger = logging.getLogger("jobsplatform_sdk.sidecar")

EVERY_SECONDS = 0.25
"""A run's progress is sent at most this often."""

KEEP_SHARE = 1 / 3
"""Of the time for which a job is kept, after which it is kept anew."""

ASK_SECONDS = 1.0
IDLE_SECONDS = 60.0


class Reporter:
    """One thread for all runs of a sidecar. What cannot be sent now is sent later; at the latest with the end."""

    def __init__(self, roster: Roster, handlers: Mapping[str, Handler[Any, Any]]) -> None:
        self._roster = roster
        self._handlers = handlers
        self._service = Service("reporter", self.step)
        self.start, self.stop, self.wake = self._service.start, self._service.stop, self._service.wake

    def step(self) -> float:
        """Send what is due; the seconds until something is due again."""
        pauses = [self._look_at(run) for run in self._roster.all() if not run.lost]
        return min(pauses, default=IDLE_SECONDS)

    def _look_at(self, run: Run) -> float:
        pause = self._progress(run)
        keep_seconds = run.keep_seconds
        if keep_seconds is None:
            return pause
        every = keep_seconds * KEEP_SHARE
        if run.kept_at + every <= clock.monotonic():
            self._keep(run)
        return min(pause, max(0.0, run.kept_at + every - clock.monotonic()))

    def _keep(self, run: Run) -> None:
        handler = self._handlers.get(run.assignment.job.job_type)
        try:
            run.keep(None if handler is None else handler.options.get("timeout"))
        except LeaseLost:
            logger.info("job %s is no longer this sidecar's", run.key[0])
        except BusError as error:
            logger.warning("job %s cannot be kept now: %s", run.key[0], error)

    def _progress(self, run: Run) -> float:
        now = clock.monotonic()
        unwritten = run.unwritten() is not None
        if not unwritten and not (run.asking and not run.leased):
            return IDLE_SECONDS
        due = run.progress_at + (EVERY_SECONDS if unwritten else ASK_SECONDS)
        if now < due:
            return due - now
        try:
            run.send_progress()
        except LeaseLost:
            return IDLE_SECONDS
        except BusError as error:
            logger.debug("progress of job %s cannot be sent now: %s", run.key[0], error)
            run.progress_at = now + ASK_SECONDS
            run.asking = False
            return ASK_SECONDS
        return EVERY_SECONDS if run.unwritten() is not None else IDLE_SECONDS
