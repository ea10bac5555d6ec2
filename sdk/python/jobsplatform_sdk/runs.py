"""One run of one job in this sidecar: what is known of its lease, and its way to the platform."""

from __future__ import annotations

import threading
from collections.abc import Callable, Mapping
from typing import Any, TypeVar

from jobsplatform_sdk import clock
from jobsplatform_sdk.calls import running
from jobsplatform_sdk.calls.call import Call
from jobsplatform_sdk.client import Client
from jobsplatform_sdk.errors import Broken, BusError, NoAnswer, NotNow
from jobsplatform_sdk.errors import LeaseLost as LeaseRefused
from jobsplatform_sdk.outcomes import JobCancelled, LeaseLost
from jobsplatform_sdk.retrying import Attempts
from jobsplatform_sdk.run_shapes import Assignment, Written

T = TypeVar("T")

ProgressNote = tuple[float, float | None, str]

FRESH_SECONDS = 1.0
"""A handler that asks whether to stop is answered by what was heard within this time."""

LOOK_SECONDS = 0.1
"""How soon a write that waits for the platform sees that its run should stop."""

SAFE_SHARE = 2 / 3
"""Of a lease without a word from the platform, after which the run stops: nobody must run beside the next one."""


class Run:
    """A run under its lease. ``leased``: it must be heard of in time (claimed runs); others are kept by the platform
    until their deadline."""

    def __init__(
        self,
        assignment: Assignment,
        client: Client,
        *,
        lease_seconds: float,
        leased: bool = True,
        wake: Callable[[Run], None] = lambda run: None,
    ) -> None:
        """``wake``: called when something is to be sent or asked for this run; must not block."""
        self.assignment = assignment
        self.key = assignment.key
        self.leased = leased
        self._client = client
        self._lease_seconds = lease_seconds
        self._wake = wake
        self._lock = threading.Lock()
        self._in_order = threading.Lock()
        self._heard_at = clock.monotonic()
        self._asked = ""
        self._lost = False
        self._noted: ProgressNote | None = None
        self._written: ProgressNote | None = None
        self.progress_at = 0.0
        self.answer_with: Callable[[Mapping[str, Any]], bool] | None = None
        self.keep_seconds: float | None = None
        self.kept_at = float("-inf")
        self._began_at = clock.monotonic()
        self._keeping = threading.Lock()
        self._finishing = False
        self.asking = False

    # -- what the platform says ---------------------------------------------------------------------------

    @property
    def lost(self) -> bool:
        """Nothing that this run writes counts any more."""
        return self._lost

    def lose(self) -> None:
        """The platform says that the lease is no longer this run's."""
        self._lost = True

    def hear(self, cancel: str | None) -> None:
        """The platform holds this run for alive, and may want it to stop."""
        self._heard_at = clock.monotonic()
        self.asking = False
        if cancel:
            self._asked = cancel

    def ask_to_stop(self, reason: str) -> None:
        """The sidecar itself wants the run to stop."""
        self._asked = self._asked or reason

    def cut_off(self) -> bool:
        """Has the platform been silent for most of a lease?"""
        return self.leased and clock.monotonic() - self._heard_at > self._lease_seconds * SAFE_SHARE

    def reason(self) -> str:
        """Why the run should stop, or empty."""
        return self._asked or ("shutdown" if self.cut_off() else "")

    # -- what the handler says ----------------------------------------------------------------------------

    def check(self) -> None:
        """Raise LeaseLost or JobCancelled where the run should stop. Asks nobody; an answer that is old is renewed
        in the background."""
        self._check_lease()
        reason = self.reason()
        if reason:
            raise JobCancelled(reason)
        if clock.monotonic() - self._heard_at > FRESH_SECONDS and not self.asking:
            self.asking = True
            self._wake(self)

    def note(self, progress: ProgressNote) -> None:
        """Keep a progress until it is sent; the newest counts."""
        self._check_lease()
        with self._lock:
            self._noted = progress
        self._wake(self)

    def write(self, call: Call[T]) -> T:
        """Send a write of the handler until it is done. Raises LeaseLost, JobCancelled when the platform is silent
        for most of a lease, and BusError for what it refuses."""
        self._check_lease()
        attempts = Attempts(call.repeatable, float("inf"), clock.monotonic())
        while True:
            try:
                return self.send(call)
            except BusError as error:
                pause = attempts.pause_after(error, clock.monotonic())
                if pause is None:
                    raise
            self._wait_unless_asked(pause)

    def _wait_unless_asked(self, seconds: float) -> None:
        until = clock.monotonic() + seconds
        while True:
            self._check_lease()
            if self.reason():
                raise JobCancelled(self.reason())
            left = until - clock.monotonic()
            if left <= 0:
                return
            clock.sleep(min(left, LOOK_SECONDS))

    # -- sending ------------------------------------------------------------------------------------------

    def send(self, call: Call[T], timeout: float | None = None) -> T:
        """Send a write of this run once and hear what its answer says. Raises LeaseLost, BusError."""
        try:
            answer = self._client.send_once(call, timeout=timeout)
        except LeaseRefused as error:
            self.lose()
            raise LeaseLost(f"{call.method}: {error.message}") from None
        if isinstance(answer, Written):
            self.hear(answer.cancel)
        return answer

    def unwritten(self) -> ProgressNote | None:
        """A progress that has not been sent yet."""
        with self._lock:
            return None if self._noted == self._written else self._noted

    def send_last_progress(self) -> None:
        """Send the newest progress unless it is written, or is on its way and arrives. Raises LeaseLost, BusError."""
        if self.unwritten() is not None:
            self.send_progress(again=False)

    def send_progress(self, *, again: bool = True) -> None:
        """Send the newest progress; ``again``: or the last one once more, to hear from the platform. Raises LeaseLost,
        BusError."""
        job_id, lease = self.key
        # One at a time: the platform keeps what it hears last, and an older one on its way must not be that.
        with self._in_order:
            with self._lock:
                newest = self._noted
                written = newest == self._written
            if written and not again:
                return
            if newest is None:
                self.send(running.merge_data(job_id, lease, {}))
                return
            self.progress_at = clock.monotonic()
            self.send(running.update_progress(job_id, lease, *newest))
            with self._lock:
                self._written = newest

    def keep_for(self, seconds: float) -> None:
        """From now on the job is deferred: put its deadline off again and again, always by so many seconds, so that it
        is not waited for much longer should this process die."""
        with self._keeping:
            if not self._finishing:
                self.keep_seconds = seconds
        self._wake(self)

    def keep(self, most: float | None) -> None:
        """Put the deadline off, to at most ``most`` seconds after the run's start. Raises LeaseLost, BusError."""
        with self._keeping:
            if self.keep_seconds is None:
                return  # its end is being told, and may be a deadline of the handler's own
            self.kept_at = clock.monotonic()
            left = float("inf") if most is None else self._began_at + most - self.kept_at
            if left > 0:
                seconds = min(self.keep_seconds, left)
                self.send(running.update_status(*self.key, {"kind": "deferred", "deadline_seconds": seconds}))

    def finish(self, ending: dict[str, Any], give_up: Callable[[], bool]) -> Written:
        """Tell the end until it is written or ``give_up`` says so. Raises LeaseLost, BusError."""
        with self._keeping:
            self._finishing, self.keep_seconds = True, None
        call = running.update_status(*self.key, ending)
        attempts = Attempts(True, float("inf"), clock.monotonic())
        while True:
            self._check_lease()
            try:
                self.send_last_progress()
                return self.send(call)
            except (NotNow, NoAnswer, Broken) as error:
                if give_up():
                    raise
                pause = attempts.pause_after(error, clock.monotonic())
                clock.sleep(1.0 if pause is None else pause)

    def _check_lease(self) -> None:
        if self._lost:
            raise LeaseLost(f"lease {self.key[1]} of job {self.key[0]} is no longer held")
