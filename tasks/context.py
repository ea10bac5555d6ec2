"""What a handler sees of its job, and how it speaks to the platform while it runs."""

from __future__ import annotations

import logging
import math
from collections.abc import Iterable, Iterator, Mapping, Sequence, Sized
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any, Literal, Protocol, TypeVar
from uuid import UUID

from jobsplatform.kernel import config
from jobsplatform.kernel.errors import InvalidInput
from tasks.json_values import check_json, clean_text, shown
from tasks.outcomes import JobCancelled
from tasks.states import CancelReason, State

T = TypeVar("T")

LABEL_LENGTH = 200
LARGEST_PROGRESS = 1e15
"""Counts beyond are nonsense: whole floats are exact up to about here."""

logger = logging.getLogger("jobsplatform.jobs")


class Declared(Protocol):
    """Whatever has a spec: a handler."""

    @property
    def spec(self) -> Any: ...


class Requested(Protocol):
    """A request for a child: a ``JobRequest`` with a ``child_key``."""

    @property
    def job_type(self) -> str: ...

    @property
    def child_key(self) -> str: ...


@dataclass(frozen=True, slots=True)
class Child:
    """One child to spawn: a handler (or a job type of the parent's app), its params, and a ``key``.

    The key is the child's own among the children, so that a parent which runs again finds the child it has.
    """

    handler: Declared | str
    params: Mapping[str, Any] = field(default_factory=dict)
    key: str = ""


@dataclass(frozen=True, slots=True)
class ChildResult:
    """How a child ended, as its parent's continuation sees it."""

    key: str
    job_id: UUID
    state: State
    result: Any = None
    error: str = ""
    data: Mapping[str, Any] = field(default_factory=dict)


class RunPort(Protocol):
    """From a running handler to its job's row. All but ``close`` raise LeaseLost once the run is stale."""

    def cancel_reason(self) -> CancelReason:
        """Why the run should stop, or NONE."""

    def progress(self, done: float | None, total: float | None, label: str) -> None:
        """Note how far the run is; may be written later, but at the latest with the run's end."""

    def checkpoint(self, cursor: Any) -> None:
        """Save where a later run goes on; saved when it returns."""

    def merge(self, patch: Mapping[str, Any]) -> dict[str, Any]:
        """Put ``patch`` over the job's data; the whole of it afterwards."""

    def spawn(self, children: Sequence[Child | Requested], ignore_failures: bool) -> list[UUID]:
        """Create the children that are not there yet; the ids of all, in order."""

    def close(self) -> tuple[float | None, float | None, str] | None:
        """Give up the port; the last progress that is not yet written, or None."""


@dataclass(slots=True)
class JobContext:
    """One run of one job.

    ``params`` as stored (the handler's arguments are the same, typed); ``data`` as of the start, kept up to
    date by ``merge``. ``started_at`` is the first start of the job, the same in every later run; ``cursor``
    the last checkpoint. ``planned_at`` and ``window_start`` bound the work of a scheduled slot:
    ``(window_start, planned_at]``. All times are aware, UTC.
    """

    id: UUID
    app_id: str
    job_type: str
    params: Mapping[str, Any]
    data: dict[str, Any]
    attempt: int
    lease: int
    started_at: datetime
    port: RunPort
    user_id: str = ""
    tenant_id: str = ""
    planned_at: datetime | None = None
    window_start: datetime | None = None
    origin: str = "live"
    run_reason: str = "live"
    force: bool = False
    cursor: Any = None
    children: list[ChildResult] = field(default_factory=list)
    spawned: int = 0
    _warned: bool = False

    @property
    def log(self) -> logging.Logger:
        """A logger; the ids of the job are on each of its lines."""
        return logger

    def check_cancel(self) -> None:
        """Raise JobCancelled if the run should stop, LeaseLost if it is no longer the job's. Cheap."""
        reason = self.port.cancel_reason()
        if reason:
            raise JobCancelled(reason)

    def progress(self, done: float | None, total: float | None = None, label: str = "") -> None:
        """Tell how far the run is. Written at most a few times a second; the last one is never lost.

        Never raises for what makes no sense: a ``done`` that is no number from 0 on leaves the progress as it
        was, such a ``total`` counts as unknown, one below ``done`` is raised to it; one warning is logged.
        """
        sane = self._sane(done, "done")
        if sane is None and done is not None:
            return
        whole = self._sane(total, "total")
        if whole is not None and sane is not None:
            whole = max(whole, sane)
        self.port.progress(sane, whole, self._label(label))

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

        ``cursor`` is any JSON value, as large as a result may be. Raises ParamsInvalid when it is not,
        ParamsTooLarge, LeaseLost, JobCancelled when the database has not answered for most of a lease (the job goes
        on from the checkpoint before), and on SQLite CheckpointInTransaction while the handler holds a transaction.
        """
        cursor = check_json(cursor, what="checkpoint", max_bytes=config.get().tasks.result_max_bytes)
        self.port.checkpoint(cursor)
        self.cursor = cursor

    def merge(self, **data: Any) -> dict[str, Any]:
        """Put values over the job's ``data``, save it now and give the whole. Raises as checkpoint does."""
        patch = check_json(data, what="data")
        check_json({**self.data, **patch}, what="data", max_bytes=config.get().tasks.result_max_bytes)
        self.data = self.port.merge(patch)
        return self.data

    def spawn(
        self, children: Sequence[Child | Requested], on_failure: Literal["fail", "ignore"] = "fail"
    ) -> list[UUID]:
        """Create many children at once, each unique by its key; a parent run again gets those it has.

        The job waits for them after the handler has returned, and then fails if one of them did
        (``on_failure="ignore"``: completes), or runs its continuation. Created within the handler's
        transaction, if it has one. Raises InvalidInput for a key that is missing or given twice, LeaseLost.
        """
        if on_failure not in ("fail", "ignore"):
            raise InvalidInput(f"spawn(on_failure): expected 'fail' or 'ignore', got {shown(on_failure)}.")
        keys: set[str] = set()
        for number, child in enumerate(children, start=1):
            key = child.key if isinstance(child, Child) else child.child_key
            if not isinstance(key, str) or not key:
                raise InvalidInput(f"spawn: child {number} has no key; give each one of its own.")
            if key in keys:
                raise InvalidInput(f"spawn: the key {shown(key)} is given twice.")
            keys.add(key)
        self.check_cancel()  # a cancelled job must not get children that its cancel has not met
        ids = self.port.spawn(children, on_failure == "ignore")
        self.spawned += len(ids)
        return ids

    def _sane(self, value: Any, what: str) -> float | None:
        if value is None:
            return None
        try:
            number = float(value) if not isinstance(value, (bool, str, bytes)) else math.nan
        except (TypeError, ValueError, OverflowError):
            number = math.nan
        if 0 <= number <= LARGEST_PROGRESS:
            return number
        self._warn(f"progress: {what} is {shown(value)}, expected a number from 0 on; it is left out")
        return None

    def _label(self, label: Any) -> str:
        try:
            return clean_text(label, LABEL_LENGTH)
        except Exception as error:
            self._warn(f"progress: the label cannot be written as text ({type(error).__name__})")
            return ""

    def _warn(self, message: str) -> None:
        if not self._warned:
            self._warned = True
            self.log.warning("%s; further ones are not told", message)
