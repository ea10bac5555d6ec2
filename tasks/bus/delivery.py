"""Runs that the platform brings to their sidecars by itself: claimed here, outside the pool, and each brought by one of
a few threads. A sidecar that says "later" is waited for by nobody: its job is deferred."""

from __future__ import annotations

import socket
import threading
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from datetime import datetime
from uuid import UUID

import structlog
from django.db import DatabaseError, InterfaceError, OperationalError, connections

from jobsplatform.kernel import clock, config, db, processes
from jobsplatform.kernel.errors import JobNotFound, StaleLease
from jobsplatform.kernel.forks import GUARD
from jobsplatform.kernel.loop import Loop, wait_until
from tasks import registry, remote
from tasks.bus import bindings, runner
from tasks.bus.leaving import Leaving
from tasks.bus.proxy import BusProxyHandler
from tasks.dispatch import WorkerView
from tasks.error_text import text_of, type_of
from tasks.models import Job
from tasks.outcomes import Ending
from tasks.states import Cause

log = structlog.get_logger("jobsplatform.bus")

Bring = Callable[[Job, BusProxyHandler, Leaving], Ending | None]
"""Brings one run to its sidecar: the ending that its answer means, or None when it was not brought, or its answer not
waited for, because this process is to end."""

REBOUND = "the binding of its type has changed"
STOPPED = "its worker stopped"

GAP_SECONDS = 0.01
"""Between two rounds, however many hints come."""


class Deliverer(Loop):
    """Claims for the sidecars of one transport while it has threads to spare; an incarnation of its own."""

    def __init__(self, transport: str, bring: Bring) -> None:
        super().__init__()
        self.name = f"bus-{transport}"
        self._transport = transport
        self._bring = bring
        self._threads = config.get().bus.call_threads
        self._pool: ThreadPoolExecutor | None = None
        self._process_id: UUID | None = None
        self._busy = 0
        self._changing = threading.Lock()
        self._leaving = Leaving()
        self._closed_at = 0.0

    def hinted(self) -> None:
        """There may be something to do; any thread may say so. Where nothing is brought, nobody is woken."""
        if self._process_id is not None:
            self.wake()

    def close(self) -> None:
        """Claim nothing more, and send nothing more; what has been sent may still be answered. Does not wait."""
        if not self._leaving.asked.is_set():
            self._closed_at = clock.monotonic()
            self._leaving.asked.set()
            self.wake()

    def hurry(self) -> None:
        """Wait for no answer any more."""
        self._leaving.over.set()

    def stop(self, timeout: float | None = 10.0) -> bool:
        """End; first wait for answers to what has been sent, at most ``TASKS__SHUTDOWN_GRACE_SECONDS`` from ``close``
        on. Runs without one are handed back."""
        self.close()
        grace = config.get().tasks.shutdown_grace_seconds
        with suppress(TimeoutError):
            # The loop goes on, so that its heartbeat does.
            wait_until(self._quiet, timeout=self._closed_at + grace - clock.monotonic())
        self._leaving.over.set()
        ended = super().stop(timeout)
        pool, self._pool = self._pool, None
        if pool is not None:
            pool.shutdown(wait=True)
        process_id, self._process_id = self._process_id, None
        if process_id is not None:
            self._be_gone(process_id, clock.now())
        return ended

    def _be_gone(self, process_id: UUID, now: datetime) -> None:
        try:
            remote.hand_back_all(process_id, STOPPED, now)
            processes.stop(process_id, now)
        except DatabaseError as error:
            # Its runs are rescued once it has been silent for long enough.
            log.error("bus.delivery_failed", text=f"could not hand back what was not brought: {error}")
            connections.close_all()

    def _quiet(self) -> bool:
        return self._busy == 0 or self._leaving.over.is_set()

    def wait_seconds(self) -> float:
        return min(config.get().tasks.poll_seconds, config.get().tasks.heartbeat_seconds)

    def step(self) -> bool:
        if self._leaving.asked.is_set():
            if self._process_id is not None:
                processes.beat(self._process_id, clock.now(), stopping=True)
            return False
        handlers = [
            handler
            for handler in registry.bound().values()
            if isinstance(handler, BusProxyHandler) and handler.is_brought_by(self._transport)
        ]
        if not handlers and self._process_id is None:
            return False
        self._stopping.wait(GAP_SECONDS)
        keys = frozenset(handler.spec.key for handler in handlers)
        queues = tuple(sorted({handler.spec.queue for handler in handlers}))
        process_id = self._be_there(keys, queues)
        free = self._threads - self._busy
        if free <= 0 or not keys:
            return False
        view = WorkerView(process_id, queues, keys, self._threads, sidecar=True, most=free)
        jobs = runner.begin_all(view, clock.now())
        for job in jobs:
            self._take(job)
        return len(jobs) == free

    def _be_there(self, keys: frozenset[str], queues: tuple[str, ...]) -> UUID:
        now, known = clock.now(), self._process_id
        if known is not None and processes.beat(known, now, handlers=sorted(keys), queues=list(queues)):
            return known
        row = processes.register(
            "sidecar",
            name=f"{self._transport}@{socket.gethostname()}",
            now=now,
            queues=queues,
            concurrency=self._threads,
            handlers=keys,
        )
        self._process_id = row.pk
        return row.pk

    def _take(self, job: Job) -> None:
        if self._pool is None:
            self._pool = ThreadPoolExecutor(self._threads, thread_name_prefix=self.name)
        with self._changing:
            self._busy += 1
        self._pool.submit(self._do, job)

    def _do(self, job: Job) -> None:
        try:
            handler = registry.find(job.app_id, job.job_type)
            if isinstance(handler, BusProxyHandler) and handler.is_brought_by(self._transport):
                self._persist(job, self._brought(job, handler))
            else:
                # Other processes may not know of it yet; until they do, the job would only come back.
                self._persist(job, Ending("snoozed", after=bindings.LOOK_SECONDS, reason=REBOUND))
        except Exception as error:
            log.error(
                "bus.delivery_failed", text=f"job {job.id} could not be brought: {error}", job_id=str(job.id)
            )
        finally:
            db.close_connections()
            with self._changing:
                self._busy -= 1
            self.wake()

    def _brought(self, job: Job, handler: BusProxyHandler) -> Ending | None:
        try:
            return self._bring(job, handler, self._leaving)
        except Exception as error:
            connections.close_all()
            said = f"could not be brought to its sidecar: {text_of(error)}"
            return Ending("failed", cause=Cause.HANDLER, error_type=type_of(error), error=said)

    def _persist(self, job: Job, ending: Ending | None) -> None:
        """Write the end, or hand the run back; while the database is away again and again, until this process ends."""

        def written() -> bool:
            try:
                with GUARD.round():
                    if ending is None:
                        remote.hand_back(job.id, job.lease, STOPPED, clock.now())
                        return True
                    # What its sidecar has told meanwhile, an end or a deadline, is newer than the answer to the call.
                    remote.end(job.app_id, job.id, job.lease, ending, clock.now(), deferred=False)
            except (StaleLease, JobNotFound):
                return True
            except (OperationalError, InterfaceError):
                connections.close_all()
                return self._leaving.over.is_set()
            return True

        if not written():
            wait_until(written, timeout=config.get().tasks.cutoff_exit_seconds, every=1.0)
