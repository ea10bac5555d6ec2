"""The one thread of a worker process that writes for its running handlers, on a connection of its own.

So a handler's transaction, committed, rolled back or broken, never touches progress and checkpoints, and a
cancel is seen while a handler computes. Made when first needed, in the process that needs it: a fork inherits
no thread.
"""

from __future__ import annotations

import os
import threading
import time
from collections import deque
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import Future, InvalidStateError
from concurrent.futures import TimeoutError as FutureTimeout
from contextlib import suppress
from contextvars import copy_context
from dataclasses import dataclass, field
from datetime import timedelta
from typing import Any
from uuid import UUID

from django.db import DEFAULT_DB_ALIAS, OperationalError, connections

from jobsplatform.kernel import clock, config, events
from jobsplatform.kernel.db import holds_transaction, is_locked, is_postgres, limit_lock_waits
from jobsplatform.kernel.errors import CheckpointInTransaction, Unreachable
from jobsplatform.kernel.loop import Loop
from jobsplatform.kernel.models import Process
from tasks import queries, spawning, transitions
from tasks.context import Child, Requested
from tasks.direct_port import DirectPort
from tasks.events import LeaseRejected, ProgressMade
from tasks.models import Job
from tasks.outcomes import JobCancelled, LeaseLost
from tasks.run_state import Progress, RunState
from tasks.spec import JobHandler
from tasks.sql.progress import Report
from tasks.states import CancelReason

__all__ = [
    "DirectPort",
    "ThreadPort",
    "ask_all_to_stop",
    "close_all",
    "direct_port",
    "running",
    "thread_port",
    "watching_thread_port",
]

POLL_SECONDS = 0.5
IDLE_SECONDS = 30.0
LINGER_SECONDS = 5.0
CLOCK_SECONDS = 60.0
RETRY_SECONDS = 0.05
PATIENCE_SECONDS = 20.0
HANG_SECONDS = 10.0
"""Past the deadline of a write, until its handler stops waiting for a thread that does not even say so."""
LOCK_MILLISECONDS = 500


@dataclass(slots=True)
class _Request:
    """A write that its handler waits for, tried until ``deadline`` (monotonic)."""

    write: Callable[[], Any]
    deadline: float
    answer: Future[Any] = field(default_factory=Future)

    def succeed(self, value: Any) -> None:
        with suppress(InvalidStateError):  # its handler waits no longer
            self.answer.set_result(value)

    def fail(self, error: Exception) -> None:
        with suppress(InvalidStateError):
            self.answer.set_exception(error)


class Reporter(Loop):
    """Writes what is due, asks for cancels twice a second, and notices when the process is on its own."""

    name = "reporter"

    def __init__(self) -> None:
        super().__init__()
        self.pid = os.getpid()
        self._parent = os.getppid()
        self._runs: dict[tuple[UUID, int], RunState] = {}
        self._requests: deque[_Request] = deque()
        self._changing = threading.Lock()
        self._polled_at: float | None = None
        self._unheard_since: float | None = None
        """When the first round began of those that have had no answer; None between rounds that had one."""
        self._synced_at = time.monotonic()
        self._idle_since = time.monotonic()
        self._asleep = True

    # -- asked by the threads of the runs ----------------------------------------------------------------

    def add(self, state: RunState) -> None:
        """Begin to serve a run."""
        with self._changing:
            self._runs = {**self._runs, state.key: state}
            asleep, self._asleep = self._asleep, False
            self.start()
        if asleep:  # else its next round is near; a wake for each short run would cost more than the run
            self.wake()

    def remove(self, state: RunState) -> None:
        """Forget a run."""
        with self._changing:
            self._runs = {key: other for key, other in self._runs.items() if other is not state}
            self._idle_since = time.monotonic()

    def runs(self) -> list[RunState]:
        """The runs served now."""
        return list(self._runs.values())

    def hears_nothing(self) -> bool:
        """Whether the database has not answered for most of a lease. Asked by the runs themselves, because this
        thread may hang in a connection that is dead and does not say so."""
        return is_postgres() and self._silence() > config.get().tasks.lease_seconds * 2 / 3

    def _silence(self) -> float:
        """Seconds without an answer to a question. A process that was stopped as it was has asked none."""
        since = self._unheard_since
        return 0.0 if since is None else time.monotonic() - since

    def do(self, write: Callable[[], Any]) -> Any:
        """Let this thread write, and wait. Raises what it raises, and Unreachable after ``PATIENCE_SECONDS``, or a
        lease if that is longer.

        Raises JobCancelled (shutdown) once ``hears_nothing``: whoever waits here must be out while the lease still
        holds. The write may be done nevertheless, as long as it does.
        """
        request = _Request(write, time.monotonic() + max(PATIENCE_SECONDS, config.get().tasks.lease_seconds))
        with self._changing:
            self._requests.append(request)
            self.start()
        self.wake()
        while True:
            try:
                return request.answer.result(timeout=POLL_SECONDS)
            except FutureTimeout:
                if request.answer.done():
                    raise  # the write's own
                if self.hears_nothing() and request.answer.cancel():
                    raise JobCancelled(CancelReason.SHUTDOWN) from None
                if time.monotonic() >= request.deadline + HANG_SECONDS:
                    raise Unreachable(
                        "The database has not taken a write of this run. Is it up, or locked?"
                    ) from None

    def stop(self, timeout: float | None = 10.0) -> bool:
        """Also fails the writes that nobody will do any more."""
        ended = super().stop(timeout)
        while self._requests:
            self._requests.popleft().fail(Unreachable("This process is stopping."))
        return ended

    # -- the thread itself -------------------------------------------------------------------------------

    def round(self) -> float:
        if self._unheard_since is None:
            self._unheard_since = time.monotonic()
        failed, pause = self._failures, super().round()
        if self._failures <= failed:
            self._unheard_since = None
        return pause

    def step(self) -> bool:
        runs = self.runs()
        if not runs and not self._requests:
            if self._asleep:
                connections.close_all()
            return False
        # One handler's transaction must not hold up the writes of all the others.
        limit_lock_waits(LOCK_MILLISECONDS, of_file=100)
        more = self._answer_requests()
        self._write_progress([s for s in runs if s.due_in() == 0.0 and not s.lost and not s.blocked()])
        if self._polled_at is None or time.monotonic() - self._polled_at >= POLL_SECONDS:
            self._poll(runs)
        return more

    def wait_seconds(self) -> float:
        if self._requests:
            return RETRY_SECONDS
        with self._changing:
            runs = self.runs()
            idle = not runs and time.monotonic() - self._idle_since >= LINGER_SECONDS
            if idle and not self._asleep:
                self._asleep = True
                return 0.0  # one more round, which closes the connection
        if idle:
            return IDLE_SECONDS
        dues = [due for state in runs if (due := state.looks_in()) is not None]
        # One that is due and still unwritten met a locked database.
        return min([POLL_SECONDS, *(max(due, RETRY_SECONDS) for due in dues)])

    def failed(self, error: Exception) -> None:
        # Asked to stop while the lease still holds, so that nobody runs beside the one who takes over.
        if self._silence() > config.get().tasks.lease_seconds * 2 / 3:
            for state in self.runs():
                state.cut_off = True

    def _answer_requests(self) -> bool:
        for _ in range(len(self._requests)):
            request = self._requests.popleft()
            if request.answer.cancelled():
                continue
            try:
                answer = request.write()
            except OperationalError as error:
                if time.monotonic() >= request.deadline:
                    request.fail(error)
                    continue
                self._requests.append(request)
                if not is_locked(error):
                    raise
            except Exception as error:
                request.fail(error)
            else:
                request.succeed(answer)
        return False

    def _write_progress(self, states: Sequence[RunState]) -> None:
        told = [(state, progress) for state in states if (progress := state.unwritten()) is not None]
        reports = [Report(state.job_id, state.lease, *progress) for state, progress in told]
        try:
            together = transitions.progress_many(reports, clock.now())
        except OperationalError as error:
            if not is_locked(error):
                raise
            return  # the table, not a row; tried again, and cancels are looked for meanwhile
        for state, progress in told:
            if state.key in together:
                self._written(state, progress, held=True)
            else:
                self._write_alone(state, progress)

    def _write_alone(self, state: RunState, progress: Progress) -> None:
        try:
            held = transitions.progress(state.job_id, state.lease, *progress, clock.now())
        except OperationalError as error:
            if not is_locked(error):
                raise
            return  # tried again; at the latest the run's end writes it
        self._written(state, progress, held)

    def _written(self, state: RunState, progress: Progress, held: bool) -> None:
        state.written(progress, 1 / config.get().tasks.progress_per_second)
        if held:
            events.emit(ProgressMade(state.job_id, state.handler_key))
        else:
            state.lost = True
            events.emit(LeaseRejected(state.job_id, state.lease, "progress"))

    def _poll(self, runs: Sequence[RunState]) -> None:
        now = time.monotonic()
        if now - self._synced_at >= CLOCK_SECONDS:
            clock.current().sync()
            self._synced_at = now
        flags = queries.cancel_flags([state.key for state in runs])
        silent = _silent_workers({state.worker_id for state in runs if state.worker_id is not None})
        orphaned = os.getppid() != self._parent
        for state in runs:
            flag = flags.get(state.key)
            state.lost = state.lost or flag is None
            state.flag = flag or CancelReason.NONE
            state.cut_off = state.worker_id in silent or (orphaned and state.watch_parent)
        self._polled_at = now


def _silent_workers(worker_ids: set[UUID]) -> set[UUID]:
    """Workers whose own heartbeats have not been written for most of a lease, though this thread gets through.

    Not asked on SQLite: a busy file delays heartbeats, and there is one process.
    """
    if not worker_ids or not is_postgres():
        return set()
    since = clock.now() - timedelta(seconds=config.get().tasks.lease_seconds * 2 / 3)
    silent = Process.objects.filter(pk__in=worker_ids, heartbeat_at__lt=since)
    return set(silent.values_list("pk", flat=True))


class ThreadPort:
    """A run's way to the reporter of its process."""

    def __init__(self, job: Job, *, soft_timeout: float | None = None, watch_parent: bool = False) -> None:
        """``soft_timeout``: seconds from now, kept here because the pool cannot interrupt the handler."""
        deadline = None if soft_timeout is None else time.monotonic() + soft_timeout
        self._job = job
        # Of the thread that runs the handler; an async handler calls from the thread of its loop.
        self._connection = connections[DEFAULT_DB_ALIAS]
        self._state = RunState(
            job.id, job.lease, job.worker_id, deadline, watch_parent, self._connection, job.handler_key
        )
        self._reporter = _current()
        self._reporter.add(self._state)

    def cancel_reason(self) -> CancelReason:
        self._check()
        reason = self._state.reason()
        # Out while the lease still holds, so that nobody runs beside the one who takes over.
        return CancelReason.SHUTDOWN if not reason and self._reporter.hears_nothing() else reason

    def progress(self, done: float | None, total: float | None, label: str) -> None:
        self._check()
        first = self._state.unwritten() is None
        self._state.note((done, total, label))
        if first and self._state.due_in() == 0.0:
            self._reporter.wake()  # else it looks by itself when the next may be written

    def checkpoint(self, cursor: Any) -> None:
        self._refuse_in_transaction("checkpoint()")
        job_id, lease = self._state.key
        self._held(
            self._reporter.do(lambda: transitions.checkpoint(job_id, lease, cursor, clock.now())),
            "checkpoint",
        )

    def merge(self, patch: Mapping[str, Any]) -> dict[str, Any]:
        self._refuse_in_transaction("merge()")
        job_id, lease = self._state.key
        whole = self._reporter.do(lambda: transitions.merge_data(job_id, lease, patch, clock.now()))
        self._held(whole is not None, "data")
        return dict(whole)

    def spawn(self, children: Sequence[Child | Requested], ignore_failures: bool) -> list[UUID]:
        self._check()

        def write() -> list[UUID] | None:
            return spawning.spawn(self._job, children, ignore_failures, clock.now())

        # Part of the handler's transaction if it has one; else as safe from an outage as any other write of the run.
        # The children belong to the request that this thread works for.
        mine = copy_context()
        ids = write() if holds_transaction(self._connection) else self._reporter.do(lambda: mine.run(write))
        self._held(ids is not None, "children")
        self._state.row_locked = holds_transaction(self._connection)
        return ids or []

    def close(self) -> tuple[float | None, float | None, str] | None:
        self._reporter.remove(self._state)
        return self._state.unwritten()

    def _check(self) -> None:
        if self._state.lost:
            raise LeaseLost(f"lease {self._state.lease} of job {self._state.job_id} is no longer held")

    def _held(self, held: bool, where: str) -> None:
        if not held:
            self._state.lost = True
            events.deliver(LeaseRejected(self._state.job_id, self._state.lease, where))
        self._check()

    def _refuse_in_transaction(self, what: str) -> None:
        self._check()
        if not holds_transaction(self._connection):
            self._state.row_locked = False
        elif not is_postgres():
            raise CheckpointInTransaction(
                f"{what} cannot be saved on SQLite while the handler holds a transaction. "
                "Call it after the transaction, or use PostgreSQL.",
                job_id=str(self._state.job_id),
            )
        elif self._state.row_locked:
            raise CheckpointInTransaction(
                f"{what} cannot be saved after spawn() in the same transaction, which holds the job's row. "
                "Call it before spawn(), or after the transaction.",
                job_id=str(self._state.job_id),
            )


# -- the reporter of this process ------------------------------------------------------------------------

_guard = threading.Lock()
_reporter: Reporter | None = None


def _current() -> Reporter:
    global _reporter
    with _guard:
        if _reporter is None or _reporter.pid != os.getpid() or _reporter.stopping:
            _reporter = Reporter()
        return _reporter


def _forget_after_fork() -> None:
    """The parent's reporter has no thread here, and another thread may have held the guard at the fork."""
    global _guard, _reporter
    _guard = threading.Lock()
    _reporter = None


os.register_at_fork(after_in_child=_forget_after_fork)


def direct_port(job: Job, handler: JobHandler) -> DirectPort:
    """For the sync provider and tests: writes on the caller's connection."""
    return DirectPort(job)


def thread_port(job: Job, handler: JobHandler) -> ThreadPort:
    """For a pool of processes, which interrupts a handler at its soft limit by itself."""
    return ThreadPort(job, watch_parent=True)


def watching_thread_port(job: Job, handler: JobHandler) -> ThreadPort:
    """For a pool of threads: the soft limit is seen at the handler's next ``check_cancel()``."""
    return ThreadPort(job, soft_timeout=handler.spec.soft_timeout)


def running() -> list[tuple[UUID, int]]:
    """The runs of this process that use the reporter: (job id, lease)."""
    reporter = _reporter
    return [] if reporter is None else [state.key for state in reporter.runs()]


def ask_all_to_stop(reason: CancelReason) -> None:
    """Every run of this process sees ``reason`` at its next ``check_cancel()``; rows are not changed."""
    reporter = _reporter
    for state in [] if reporter is None else reporter.runs():
        state.asked = reason


def close_all(timeout: float = 5.0) -> bool:
    """Stop this process's reporter and close its connection; has it ended? A later run starts a new one."""
    global _reporter
    with _guard:
        reporter, _reporter = _reporter, None
    return reporter is None or reporter.stop(timeout)
