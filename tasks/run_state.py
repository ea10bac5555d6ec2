"""What the thread of a run and the reporter's thread tell each other about it."""

from __future__ import annotations

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
    row_locked: bool = False  # by spawn(), until the handler's transaction ends
    flag: CancelReason = CancelReason.NONE  # as the row says
    asked: CancelReason = CancelReason.NONE  # as this process says (shutdown)
    cut_off: bool = False  # its worker's heartbeats do not reach the database
    lost: bool = False
    written_at: float | None = None
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

    def written(self, progress: Progress) -> None:
        """``progress`` is in the row. It stays unwritten until then: a run may end during the write."""
        with self._lock:
            if self._progress is progress:
                self._progress = None
        self.written_at = time.monotonic()

    def due_in(self, every: float) -> float | None:
        """Seconds until the progress may be written; None when there is nothing to write."""
        if self.unwritten() is None:
            return None
        if self.written_at is None:
            return 0.0
        return max(0.0, self.written_at + every - time.monotonic())
