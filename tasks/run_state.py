"""What the thread of a run and the reporter's thread tell each other about it."""

from __future__ import annotations

import math
import threading
import time
from dataclasses import dataclass, field
from typing import Any
from uuid import UUID

from jobsplatform.kernel.db import holds_transaction
from tasks.states import CancelReason

Progress = tuple[float | None, float | None, str]


@dataclass(slots=True, eq=False)
class RunState:
    """One run. ``soft_deadline`` is monotonic; None when the pool keeps the soft limit, or there is none."""

    job_id: UUID
    lease: int
    worker_id: UUID | None = None
    soft_deadline: float | None = None
    watch_parent: bool = False
    connection: Any = None  # the handler's
    handler_key: str = ""
    row_locked: bool = False  # by spawn(), until the handler's transaction ends
    flag: CancelReason = CancelReason.NONE  # as the row says
    asked: CancelReason = CancelReason.NONE  # as this process says (shutdown)
    cut_off: bool = False  # its worker's heartbeats do not reach the database
    lost: bool = False
    next_at: float | None = None  # its progress is not written again before
    _progress: Progress | None = None
    _lock: Any = field(default_factory=threading.Lock)

    @property
    def key(self) -> tuple[UUID, int]:
        return self.job_id, self.lease

    def reason(self) -> CancelReason:
        """Why the run should stop: the row's word before this process's."""
        if self.flag:
            return self.flag
        if self.soft_deadline is not None and time.monotonic() >= self.soft_deadline:
            return CancelReason.TIMEOUT
        if self.asked:
            return self.asked
        return CancelReason.SHUTDOWN if self.cut_off else CancelReason.NONE

    def blocked(self) -> bool:
        """Does the handler's own transaction hold the job's row? Trying to write would hold up other runs."""
        if self.row_locked and not holds_transaction(self.connection):
            self.row_locked = False
        return self.row_locked

    def note(self, progress: Progress) -> None:
        """Remember the newest progress, to be written when it is due."""
        with self._lock:
            self._progress = progress

    def unwritten(self) -> Progress | None:
        """The newest progress, if it is not written yet."""
        with self._lock:
            return self._progress

    def written(self, progress: Progress, every: float) -> None:
        """``progress`` is in the row. It stays unwritten until then: a run may end during the write.

        The first comes when it comes; those after it keep to times that all runs of the process share, ``every``
        seconds apart, so that they are written together.
        """
        with self._lock:
            if self._progress is progress:
                self._progress = None
        now = time.monotonic()
        if self.next_at is not None and self.next_at <= now < self.next_at + every:
            self.next_at += every
        else:
            self.next_at = (math.ceil(now / every) + 1) * every

    def due_in(self) -> float | None:
        """Seconds until the progress may be written; None when there is nothing to write."""
        if self.unwritten() is None:
            return None
        return 0.0 if self.next_at is None else max(0.0, self.next_at - time.monotonic())

    def looks_in(self) -> float | None:
        """Seconds until there may be something to write: a run that was written a moment ago need not say that there is
        more. None: it will say so."""
        # Asked for first: whoever notes something after that finds it due, and says so.
        left = None if self.next_at is None else self.next_at - time.monotonic()
        if self.unwritten() is None and left is not None:
            return left if left > 0 else None
        return self.due_in()
