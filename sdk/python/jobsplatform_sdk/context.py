"""What a handler sees of its job, and how it speaks to the platform while it runs: the same as for handlers inside
the platform."""

from __future__ import annotations

import logging
import math
from collections.abc import Iterable, Iterator, Mapping, Sequence, Sized
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any, Literal, Protocol, TypeVar

from jobsplatform_sdk.calls import running
from jobsplatform_sdk.calls.call import given
from jobsplatform_sdk.json_values import check_json, clean_text
from jobsplatform_sdk.run_shapes import Assignment, ChildResult
from jobsplatform_sdk.runs import Run

T = TypeVar("T")

LABEL_LENGTH = 200
LARGEST_PROGRESS = 1e15
CHILDREN_A_CALL = 10_000

logger = logging.getLogger("jobsplatform_sdk.jobs")


class Declared(Protocol):
    """A handler of this sidecar."""

    @property
    def job_type(self) -> str: ...


@dataclass(frozen=True, slots=True)
class Child:
    """One child to spawn: a handler (or a job type of the app), its params, and a ``key`` of its own among the
    children, so that a parent which runs again finds the child it has. ``options``: more fields of ``jobs.create``.
    """

    handler: Declared | str
    params: Mapping[str, Any] = field(default_factory=dict)
    key: str = ""
    options: Mapping[str, Any] = field(default_factory=dict)

    def wire(self) -> dict[str, Any]:
        """The child as the bus takes it."""
        job_type = self.handler if isinstance(self.handler, str) else self.handler.job_type
        named = {"job_type": job_type, "params": dict(self.params), "child_key": self.key}
        return {**given(**self.options), **named}


class JobContext:
    """One run of one job.

    ``params`` as stored; ``data`` as of the start, kept up to date by ``merge``. ``started_at`` is when the job first
    started; ``cursor`` the last checkpoint. ``planned_at`` and ``window_start`` bound the work of a scheduled slot:
    ``(window_start, planned_at]``. All times are aware, UTC.
    """

    def __init__(self, run: Run) -> None:
        assignment: Assignment = run.assignment
        job = assignment.job
        self._run = run
        self._warned = False
        self._done = 0.0
        self.id: str = job.id
        self.app_id: str = job.app_id
        self.job_type: str = job.job_type
        self.params: Mapping[str, Any] = job.params
        self.data: Mapping[str, Any] = job.data
        self.attempt: int = assignment.attempt
        self.lease: int = assignment.lease
        self.started_at: datetime | None = job.started_at
        self.user_id: str = job.user_id
        self.tenant_id: str = job.tenant_id
        self.planned_at: datetime | None = assignment.planned_at
        self.window_start: datetime | None = assignment.window_start
        self.run_reason: str = assignment.run_reason
        self.force: bool = assignment.force
        self.cursor: Any = assignment.cursor
        self.children: list[ChildResult] = list(assignment.children)
        self.log = logging.LoggerAdapter(logger, {"job_id": job.id, "job_type": job.job_type})

    @property
    def window(self) -> tuple[datetime | None, datetime | None]:
        """``(window_start, planned_at)``."""
        return self.window_start, self.planned_at

    def check_cancel(self) -> None:
        """Raise JobCancelled if the run should stop, LeaseLost if it is no longer the job's. Cheap: the platform is
        asked in the background, about once a second while this is called."""
        self._run.check()

    def progress(self, done: float | None, total: float | None = None, label: str = "") -> None:
        """Tell how far the run is. Sent at most four times a second; the last one is never lost.

        Never raises for what makes no sense: a ``done`` that is no number from 0 on leaves the progress as it was,
        such a ``total`` counts as unknown, one below ``done`` is raised to it; one warning is logged.
        """
        sane = self._sane(done, "done")
        if sane is None and done is not None:
            return
        whole = self._sane(total, "total")
        if whole is not None and sane is not None:
            whole = max(whole, sane)
        self._done = self._done if sane is None else sane
        self._run.note((self._done, whole, clean_text(label, LABEL_LENGTH)))

    def track(self, items: Iterable[T], total: float | None = None, label: str = "") -> Iterator[T]:
        """Go through ``items`` with progress and a cancel check for each; ``total``: their len(), if any."""
        if total is None and isinstance(items, Sized):
            total = len(items)
        self.progress(0, total, label)
        for done, item in enumerate(items, start=1):
            self.check_cancel()
            yield item
            self.progress(done, total, label)

    def checkpoint(self, cursor: Any) -> None:
        """Save where the next run goes on, now, under this run's lease.

        ``cursor`` is any JSON value. Raises ValueError when it is not, TooLarge, LeaseLost, and JobCancelled when the
        platform has not answered for most of a lease (the job goes on from the checkpoint before).
        """
        cursor = check_json(cursor, "checkpoint")
        self._run.write(running.checkpoint(self.id, self.lease, cursor))
        self.cursor = cursor

    def merge(self, **data: Any) -> Mapping[str, Any]:
        """Put values over the job's ``data``, save it now and give the whole. Raises as checkpoint does."""
        patch = check_json(data, "data")
        self.data = self._run.write(running.merge_data(self.id, self.lease, patch)).data
        return self.data

    def spawn(self, children: Sequence[Child], on_failure: Literal["fail", "ignore"] = "fail") -> list[str]:
        """Create many children at once, each unique by its key; a parent run again gets those it has.

        The job waits for them after the handler has returned, and then fails if one of them did
        (``on_failure="ignore"``: completes), or runs its continuation. Their ids, in order. Raises ValueError for a
        key that is missing or given twice, LeaseLost, UnknownHandler, ParamsInvalid.
        """
        if on_failure not in ("fail", "ignore"):
            raise ValueError(f"spawn(on_failure): expected 'fail' or 'ignore', got {on_failure!r}.")
        keys: set[str] = set()
        for number, child in enumerate(children, start=1):
            if not child.key:
                raise ValueError(f"spawn: child {number} has no key; give each one of its own.")
            if child.key in keys:
                raise ValueError(f"spawn: the key {child.key!r} is given twice.")
            keys.add(child.key)
        self.check_cancel()
        ids: list[str] = []
        for first in range(0, len(children), CHILDREN_A_CALL):
            some = [child.wire() for child in children[first : first + CHILDREN_A_CALL]]
            call = running.batch_children(self.id, self.lease, some, ignore_failures=on_failure == "ignore")
            ids += self._run.write(call).ids
        return ids

    batch_children = spawn

    def _sane(self, value: Any, what: str) -> float | None:
        if value is None:
            return None
        try:
            number = float(value) if not isinstance(value, (bool, str, bytes)) else math.nan
        except (TypeError, ValueError, OverflowError):
            number = math.nan
        if 0 <= number <= LARGEST_PROGRESS:
            return number
        if not self._warned:
            self._warned = True
            self.log.warning(
                "progress: %s is %.60r, expected a number from 0 on; it is left out. Further ones are not told",
                what,
                value,
            )
        return None
