"""The local profile: web server, worker and scheduler in one process, an in-memory broker and a pool of threads.

The main thread serves the web; worker and scheduler live in threads of their own. Nothing else has to run. What a pool
of threads cannot do is said at the start: a handler that ignores its limit or its cancel cannot be killed.
"""

from __future__ import annotations

import logging
import os
import socket
import threading
from collections.abc import Callable
from typing import Any

from celery.worker import WorkController

from jobsplatform import web
from jobsplatform.celery import app
from jobsplatform.kernel import config
from jobsplatform.kernel.bell import Bell
from scheduler.providers import get_provider

LAST_SECONDS = 1.5
"""After a second Ctrl-C, for handing back what runs."""

JOIN_SECONDS = 3.0
SCHEDULER_SECONDS = 4.5
INTERRUPTED = 130


class EmbeddedWorker(WorkController):
    """Celery's worker without its program: no signals, no banner, no redirected output."""

    def __init__(self, concurrency: int, on_ready: Callable[[], None]) -> None:
        self._on_ready = on_ready
        super().__init__(
            app=app,
            hostname=f"local@{socket.gethostname()}",
            pool_cls="threads",
            concurrency=concurrency,
            without_mingle=True,
            without_gossip=True,
            without_heartbeat=True,
        )

    def on_consumer_ready(self, consumer: Any) -> None:
        self._on_ready()


class WorkerThread:
    """The worker and the thread it lives in."""

    def __init__(self, concurrency: int) -> None:
        self.ready = threading.Event()
        self.on_end: Callable[[], None] = lambda: None
        self._worker: EmbeddedWorker | None = None
        self._concurrency = concurrency
        self._thread = threading.Thread(target=self._live, name="worker", daemon=True)

    def start(self) -> None:
        self._thread.start()

    def _live(self) -> None:
        try:
            self._worker = EmbeddedWorker(self._concurrency, self.ready.set)
            self._worker.start()
        finally:
            self.ready.set()
            self.on_end()

    @property
    def alive(self) -> bool:
        return self._thread.is_alive()

    @property
    def crew(self) -> Any:
        """The platform's part of the worker; None until it is made."""
        return getattr(self._worker, "jobsplatform_crew", None)

    def ring(self) -> None:
        """Once: drain. Again: hurry."""
        if self.crew is not None:
            self.crew.bell.ring()

    def wait_drained(self, seconds: float | None) -> bool:
        """Whether the drain was over within ``seconds``."""
        return self.crew is None or not self.alive or bool(self.crew.drain.done.wait(seconds))

    def end(self) -> bool:
        """End the thread after the drain; whether it did, with all the threads of its pool."""
        if self._worker is not None and self.alive:
            # Celery looks at its flag every two seconds; a message of its own wakes it at once.
            app.control.broadcast("shutdown", destination=[self._worker.hostname])
        self._thread.join(JOIN_SECONDS)
        return not self.alive and not (self.crew and self.crew.abandoned.still_working())


class SchedulerThread:
    """The scheduler that SCHEDULER__PROVIDER names, and the thread it lives in. Raises InvalidInput when it cannot."""

    def __init__(self) -> None:
        self._bell = Bell()
        self._provider = get_provider()
        self._thread = threading.Thread(target=self._live, name="scheduler-service", daemon=True)

    def start(self) -> None:
        self._thread.start()

    def _live(self) -> None:
        self._provider.run(bell=self._bell, instance_id=f"local@{socket.gethostname()}")

    def ask_to_end(self) -> None:
        self._bell.ring()

    def end(self) -> None:
        """A round that hangs ends with the process."""
        self._bell.ring()
        if self._thread.ident is not None:
            self._thread.join(SCHEDULER_SECONDS)


class Platform:
    """Web, worker and scheduler in this process, until a signal ends them. Call ``run`` from the main thread."""

    def __init__(
        self,
        listening: socket.socket | None,
        worker: WorkerThread | None,
        say: Callable[[str], None],
        scheduler: SchedulerThread | None = None,
    ) -> None:
        self._listening = listening
        self._worker = worker
        self._scheduler = scheduler
        self._say = say
        self._bell = Bell()
        self._rung = threading.Event()
        self._server: web.WebServer | None = None
        self._asked = False
        self._failed = False

    def run(self, on_ready: Callable[[], None]) -> int:
        """Serve until SIGTERM or Ctrl-C; the exit code."""
        self._bell.install()
        # The server's own "started" and "shutting down" say what we say.
        logging.getLogger("uvicorn.error").setLevel(logging.WARNING)
        # It would warn of the message by which we end it.
        logging.getLogger("celery.worker.control").setLevel(logging.ERROR)
        threading.Thread(target=self._guard, name="guard", daemon=True).start()
        if self._listening is not None:
            self._server = web.WebServer(on_ready)
        if self._worker is not None:
            self._worker.on_end = self._worker_ended
            self._worker.start()
        if self._scheduler is not None:
            self._scheduler.start()
        if self._server is None:
            return self._run_without_web(on_ready)
        self._server.serve_here(self._listening)
        return self._end()

    def _run_without_web(self, on_ready: Callable[[], None]) -> int:
        if self._worker is None:
            on_ready()
            self._rung.wait()
            return self._end()
        self._worker.ready.wait()
        if self._worker.alive:
            on_ready()
            self._worker.wait_drained(None)
        return self._end()

    def _guard(self) -> None:
        """Sleeps until a signal comes; a second one ends the process whatever the rest is doing."""
        self._bell.wait(None)
        self._asked = True
        self._say("Stopping. Press Ctrl-C again to stop at once.")
        self._rung.set()
        if self._scheduler is not None:
            self._scheduler.ask_to_end()
        if self._worker is not None:
            self._worker.ring()
        if self._server is not None:
            self._server.end()
        self._bell.wait(None)
        if self._worker is not None:
            self._worker.ring()
            self._worker.wait_drained(LAST_SECONDS)
        os._exit(INTERRUPTED)

    def _worker_ended(self) -> None:
        """Pages without a worker would look alive and do nothing: end, so that somebody starts us again."""
        if self._asked:
            return
        self._failed = True
        self._say("The worker has ended by itself; see its last lines. Stopping.")
        if self._server is not None:
            self._server.end()

    def _end(self) -> int:
        worker = self._worker
        if self._scheduler is not None:
            self._scheduler.end()
        if worker is None:
            return 0
        if not self._asked:
            # The web server or the worker ended without being asked to.
            self._asked = True
            worker.ring()
        drained = worker.wait_drained(config.get().tasks.shutdown_grace_seconds + JOIN_SECONDS)
        if not worker.end() and drained:
            # Only threads that cannot be ended are left; their jobs were handed back.
            os._exit(0)
        return 1 if self._failed or not drained else 0
