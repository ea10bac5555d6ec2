"""Where Celery's start and stop meet ours.

A worker starts in this order: settings and checks (preflight), the pool's processes, then this step: the row
of the incarnation, its direct queue, the threads (heartbeat, dispatcher, hints, warden, sweeper, watchdog),
last Celery's consumer. It stops the other way round, after the drain.
"""

from __future__ import annotations

import os
import threading
from typing import Any, ClassVar

from celery import bootsteps

from jobsplatform.kernel import config
from tasks.worker.consumer import choose
from tasks.worker.crew import Crew

DEAD_CHILDREN_SECONDS = 0.2
"""How often the pool looks for dead processes. It is told when one dies, but a process with several threads may
not be there to be collected yet at that moment, and the pool itself looks again only every five seconds."""


class WorkerStep(bootsteps.StartStopStep):
    """Runs the crew beside the pool. It does not need the broker, and a reconnect does not touch it."""

    label = "jobsplatform"
    requires: ClassVar = {"celery.worker.components:Pool"}

    def __init__(self, parent: Any, **options: Any) -> None:
        super().__init__(parent, **options)
        self._crew: Crew | None = None

    def include_if(self, parent: Any) -> bool:
        return config.get().tasks.provider == "celery"

    def create(self, parent: Any) -> Any:
        self._crew = parent.jobsplatform_crew = Crew(parent)
        # Celery makes its consumer after this step.
        parent.consumer_cls = choose(parent.consumer_cls)
        return self

    def start(self, parent: Any) -> None:
        assert self._crew is not None
        self._crew.start()
        if threading.current_thread() is threading.main_thread():
            self._crew.owns_process = True
            self._crew.bell.install()
        self._crew.watch_for_end()

    def register_with_event_loop(self, parent: Any, hub: Any) -> None:
        """Called at each connection to the broker, by which Celery forgets timers."""
        if self._crew is not None and self._crew.incarnation.can_kill:
            hub.call_repeatedly(DEAD_CHILDREN_SECONDS, parent.pool.maintain_pool)

    def stop(self, parent: Any) -> None:
        assert self._crew is not None
        self._crew.stop()
        if self._crew.owns_process and self._crew.abandoned.still_working():
            # Threads that cannot be ended would keep the process alive; their jobs were handed back.
            os._exit(self._crew.exit_code or 0)

    terminate = stop
