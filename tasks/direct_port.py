"""A run that writes on its caller's own connection: for the sync provider and for tests."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Mapping, Sequence
from typing import Any
from uuid import UUID

from jobsplatform.kernel import clock, config, events
from jobsplatform.kernel.db import in_transaction
from tasks import queries, spawning, transitions
from tasks.context import Child, Requested
from tasks.events import LeaseRejected, ProgressMade
from tasks.models import Job
from tasks.outcomes import LeaseLost
from tasks.states import CancelReason

_NOTHING: Any = object()


class DirectPort:
    """Inside the handler's transaction, and in async handlers, writes wait: for the next one outside of it, or
    for the run's end, so that a rollback of the handler's work does not take them along."""

    def __init__(self, job: Job) -> None:
        self._job = job
        self._job_id, self._lease = job.id, job.lease
        self._data: dict[str, Any] = dict(job.data)
        self._reason = CancelReason.NONE
        self._progress: tuple[float | None, float | None, str] | None = None
        self._progress_at: float | None = None
        self._cursor: Any = _NOTHING
        self._patch: dict[str, Any] = {}

    def cancel_reason(self) -> CancelReason:
        if _in_event_loop():
            return self._reason
        self._flush()
        reason = queries.cancel_flag(self._job_id, self._lease)
        if reason is None:
            raise self._lost("cancel check")
        self._reason = reason
        return reason

    def progress(self, done: float | None, total: float | None, label: str) -> None:
        self._progress = (done, total, label)
        every = 1 / config.get().tasks.progress_per_second
        if self._progress_at is None or time.monotonic() - self._progress_at >= every:
            self._flush()

    def checkpoint(self, cursor: Any) -> None:
        self._cursor = cursor
        self._flush()

    def merge(self, patch: Mapping[str, Any]) -> dict[str, Any]:
        self._patch.update(patch)
        self._data.update(patch)
        self._flush()
        return dict(self._data)

    def spawn(self, children: Sequence[Child | Requested], ignore_failures: bool) -> list[UUID]:
        ids = spawning.spawn(self._job, children, ignore_failures, clock.now())
        if ids is None:
            raise self._lost("children")
        return ids

    def close(self) -> tuple[float | None, float | None, str] | None:
        try:
            self._write_data()
        except LeaseLost:
            return None  # told already; whoever ends the run will be refused too
        return self._progress

    def _flush(self) -> None:
        if _in_event_loop() or in_transaction():
            return
        self._write_data()
        if self._progress is not None:
            done, total, label = self._progress
            if not transitions.progress(self._job_id, self._lease, done, total, label, clock.now()):
                raise self._lost("progress")
            self._progress, self._progress_at = None, time.monotonic()
            events.emit(ProgressMade(self._job_id, self._job.handler_key))

    def _write_data(self) -> None:
        if self._cursor is not _NOTHING:
            if not transitions.checkpoint(self._job_id, self._lease, self._cursor, clock.now()):
                raise self._lost("checkpoint")
            self._cursor = _NOTHING
        if self._patch:
            whole = transitions.merge_data(self._job_id, self._lease, self._patch, clock.now())
            if whole is None:
                raise self._lost("data")
            self._data, self._patch = whole, {}

    def _lost(self, where: str) -> LeaseLost:
        events.emit(LeaseRejected(self._job_id, self._lease, where))
        return LeaseLost(f"lease {self._lease} of job {self._job_id} is no longer held")


def _in_event_loop() -> bool:
    try:
        asyncio.get_running_loop()
    except RuntimeError:
        return False
    return True
