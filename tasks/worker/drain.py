"""End a worker in good order: take nothing new, let runs finish, ask the rest to stop, hand back the rest.

The signal handlers only write a byte into a pipe. Celery's own loop goes on meanwhile: results, time limits
and dead children are looked after until the last run has ended.
"""

from __future__ import annotations

import threading
from collections.abc import Callable
from typing import Protocol
from uuid import UUID

import structlog
from django.db import DatabaseError, connections

from jobsplatform.kernel import clock, config, processes
from jobsplatform.kernel.bell import Bell
from tasks import control, dispatch, finish
from tasks.models import Job
from tasks.outcomes import Ending
from tasks.states import CancelReason, State
from tasks.worker import inflight
from tasks.worker.inflight import RunKey

log = structlog.get_logger("jobsplatform.worker")

ASK_SHARE = 0.7
"""Share of the grace after which the runs that still work are asked to stop."""

LOOK_SECONDS = 0.2
HAND_BACK_EVERY_SECONDS = 1.0


class Ship(Protocol):
    """What a drain needs of its worker."""

    @property
    def process_id(self) -> UUID: ...

    def take_nothing_new(self) -> None: ...

    def stop_working(self, key: RunKey) -> bool: ...

    def kill_foreign(self) -> None: ...

    def leave(self) -> None: ...


class Drain:
    """One worker's end. ``run`` once; a ring of ``bell`` while it runs means: hurry."""

    def __init__(self, ship: Ship, bell: Bell) -> None:
        self._ship = ship
        self._bell = bell
        self._hurry = False
        self._running = threading.Lock()
        self._clean = False
        self.done = threading.Event()

    @property
    def hurried(self) -> bool:
        """It was asked to wait for nobody."""
        return self._hurry

    def run(self, *, hurry: bool = False) -> bool:
        """Drain, once; whether every job of this worker has ended or was handed back.

        ``hurry``: end what runs at once. A second caller waits for the first.
        """
        self._hurry = self._hurry or hurry
        with self._running:
            if not self.done.is_set():
                self._clean = self._drain()
                self.done.set()
        return self._clean

    def _drain(self) -> bool:
        started, grace = clock.monotonic(), config.get().tasks.shutdown_grace_seconds
        log.info("worker.draining", text=f"worker takes nothing new; runs have {grace:g} s to end")
        self._ship.take_nothing_new()
        self._try("say that it stops", lambda: processes.stopping(self._ship.process_id, clock.now()))
        quiet = self._wait_until_quiet(started + grace * ASK_SHARE)
        if not quiet and not self._hurry:
            self._try("ask runs to stop", self._ask)
            quiet = self._wait_until_quiet(started + grace)
        handed_back = self._try("hand back what still runs", self._hand_back_runs) if not quiet else True
        self._ship.leave()
        stopped = self._try("say that it stopped", lambda: processes.stop(self._ship.process_id, clock.now()))
        connections.close_all()
        log.info("worker.drained", text=f"worker drained in {clock.monotonic() - started:.1f} s")
        return handed_back and stopped

    def _wait_until_quiet(self, until: float) -> bool:
        """Hand back what was sent and not started, until nothing runs, the time is up, or it must hurry."""
        handed_back_at = float("-inf")
        while True:
            at = clock.monotonic()
            if at - handed_back_at >= HAND_BACK_EVERY_SECONDS:
                handed_back_at = at
                self._try("hand back what has not started", self._hand_back_unstarted)
            if self._is_quiet():
                return True
            if self._hurry or at >= until:
                return False
            if self._bell.wait(min(LOOK_SECONDS, until - at)):
                log.warning("worker.hurries", text="asked again to stop: runs are ended and handed back now")
                self._hurry = True

    def _is_quiet(self) -> bool:
        quiet = False

        def look() -> None:
            nonlocal quiet
            quiet = not _runs(self._ship.process_id)

        self._try("look at what runs", look)
        return quiet and not inflight.plain_active()

    def _hand_back_unstarted(self) -> None:
        dispatch.hand_back_all(self._ship.process_id, clock.now())

    def _ask(self) -> None:
        control.interrupt_worker(self._ship.process_id, CancelReason.SHUTDOWN)

    def _hand_back_runs(self) -> None:
        self._ship.kill_foreign()
        for job_id, lease, pack in _runs(self._ship.process_id):
            self._ship.stop_working(inflight.key_of(job_id, lease, pack))
            ending = Ending("cancelled", reason=CancelReason.SHUTDOWN)
            finish.finish(job_id, lease, ending, clock.now())
        self._hand_back_unstarted()

    def _try(self, what: str, act: Callable[[], object]) -> bool:
        try:
            act()
        except DatabaseError as error:
            log.error("worker.drain_failed", text=f"could not {what}: {error}")
            connections.close_all()
            return False
        return True


def _runs(process_id: UUID) -> list[tuple[UUID, int, UUID | None]]:
    rows = Job.objects.filter(worker_id=process_id, state=State.RUNNING).order_by("id")
    return list(rows.values_list("id", "lease", "pack"))
