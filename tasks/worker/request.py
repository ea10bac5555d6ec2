"""What the worker's main process learns about a run: its process died, its time was up, it went wrong."""

from __future__ import annotations

from typing import Any

from billiard.exceptions import SoftTimeLimitExceeded, Terminated, TimeLimitExceeded, WorkerLostError
from celery.worker.request import Request
from celery.worker.state import task_ready

from tasks.worker.inflight import run_keys
from tasks.worker.losses import LOSSES, How, Loss

_DEAD = (WorkerLostError, Terminated, SystemExit, KeyboardInterrupt)


class RunRequest(Request):
    """Tells ``LOSSES`` of every run that ended without writing its own end.

    A run writes its end itself, so whatever arrives here as a failure is the failure of its process. The
    hooks fire more than once for one ending, in the main thread, and must not touch the database.
    """

    def on_failure(self, exc_info: Any, send_failed_event: bool = True, return_ok: bool = False) -> None:
        task_ready(self)
        error = exc_info.exception
        error = getattr(error, "exc", error)
        self._tell(_how(error), _reason(error))
        self.acknowledge()
        if send_failed_event:
            self.send_event("task-failed", exception=_reason(error), traceback="")

    def on_timeout(self, soft: bool, timeout: float) -> None:
        if soft:
            return
        task_ready(self)
        self._tell(How.TIMED_OUT, f"ran into its time limit of {timeout:g} s")
        self.acknowledge()

    def _tell(self, how: How, reason: str) -> None:
        # Of several runs in turn one was being worked on; those that have ended, or not begun, are not charged.
        for key in run_keys(self):
            LOSSES.tell(Loss(key, how, reason))


def _how(error: BaseException) -> How:
    if isinstance(error, TimeLimitExceeded | SoftTimeLimitExceeded):
        return How.TIMED_OUT
    return How.DIED if isinstance(error, _DEAD) else How.UNCLEAR


def _reason(error: BaseException) -> str:
    text = str(error).partition(" Job:")[0].strip() or type(error).__name__
    return text if isinstance(error, _DEAD) else f"{type(error).__name__}: {text}"
