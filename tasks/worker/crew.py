"""The threads that make one Celery worker a worker of the platform, and what they share."""

from __future__ import annotations

import os
import signal
import threading
from typing import Any
from uuid import UUID

import structlog
from celery.worker import state

from jobsplatform.kernel import clock, config
from jobsplatform.kernel.bell import Bell
from jobsplatform.kernel.loop import Loop
from tasks import reporter
from tasks.bus import callback, celery_queue
from tasks.bus.delivery import Deliverer
from tasks.heartbeat import Heartbeat, Trust
from tasks.hints import Listener
from tasks.states import CancelReason
from tasks.worker import inflight
from tasks.worker.dispatcher import Dispatcher
from tasks.worker.drain import Drain
from tasks.worker.file_watch import FileWatch, watched_file
from tasks.worker.incarnation import DIRECT_PREFIX, Incarnation, direct_queue
from tasks.worker.inflight import Abandoned, RunKey
from tasks.worker.kills import Killer
from tasks.worker.losses import LOSSES
from tasks.worker.sender import Sender, direct
from tasks.worker.sweeper import Sweeper
from tasks.worker.warden import Warden
from tasks.worker.watchdog import Appetite, Watchdog

log = structlog.get_logger("jobsplatform.worker")

STOP_SECONDS = 5.0
EXIT_SECONDS = 15.0


class Crew:
    """Everything of ours in one worker. ``worker`` is Celery's ``WorkController``."""

    def __init__(self, worker: Any) -> None:
        self._worker = worker
        self.abandoned = Abandoned()
        self.bell = Bell()
        self.drain = Drain(self, self.bell)
        self.exit_code: int | None = None
        self.owns_process = False

    # -- its life --------------------------------------------------------------------------------------

    def start(self) -> None:
        """Register, take the direct queue, start the threads. The pool runs, the consumer not yet."""
        worker, clock_ = self._worker, clock.current()
        clock_.sync()
        can_kill = "prefork" in type(worker.pool).__module__
        self.incarnation = Incarnation(
            name=worker.hostname,
            queues=[
                name for name in worker.app.amqp.queues.consume_from if not name.startswith(DIRECT_PREFIX)
            ],
            concurrency=worker.max_concurrency or worker.concurrency,
            can_kill=can_kill,
            pool=type(worker.pool).__module__.rpartition(".")[2],
        )
        process_id = self.incarnation.register(clock_.now())
        worker.app.amqp.queues.select_add(direct(process_id))
        self.incarnation.on_renewed.append(self._move_to)
        self._make_loops(can_kill)
        for loop in self._loops:
            loop.start()

    def _make_loops(self, can_kill: bool) -> None:
        self._trust = trust = Trust(config.get().tasks.lease_seconds, clock.monotonic())
        self.sender = Sender(self._worker.app)
        self._killer = Killer(lambda: self._worker.pool, can_kill, LOSSES, self.abandoned)
        appetite = Appetite()
        self.dispatcher = Dispatcher(self.incarnation, trust, self.sender, appetite, self.occupied)
        self._deliverers = [Deliverer("http", callback.call), Deliverer("celery", celery_queue.send)]
        self._listener = Listener(self._hinted, lambda: self.incarnation.process_id)
        self._heartbeat = Heartbeat(self.incarnation, trust, self._busy_threads)
        self._watchdog = Watchdog(trust, appetite, self._ask_all_to_stop, self.end)
        self._loops: list[Loop] = [
            self._heartbeat,
            self.dispatcher,
            self._listener,
            Warden(self.incarnation, LOSSES, self._killer),
            Sweeper(trust, self.sender),
            self._watchdog,
        ]
        self._loops += self._deliverers
        if (path := watched_file()) is not None:
            self._loops.append(FileWatch(path, self.dispatcher.wake))

    def _hinted(self) -> None:
        self.dispatcher.wake()
        for deliverer in self._deliverers:
            deliverer.hinted()

    def occupied(self) -> int:
        """Slots that the database does not know to be taken."""
        return inflight.occupied(self.incarnation.id, self.abandoned)

    def _busy_threads(self) -> int:
        return len(self.abandoned.still_working())

    def _ask_all_to_stop(self) -> None:
        reporter.ask_all_to_stop(CancelReason.SHUTDOWN)

    def _move_to(self, process_id: UUID) -> None:
        """A new incarnation: consume its queue. The old one is removed by whoever declared us dead."""
        queues = self._worker.app.amqp.queues
        for name in [name for name in queues.consume_from if name.startswith(DIRECT_PREFIX)]:
            queues.deselect(name)
        queues.select_add(direct(process_id))
        consumer = self._worker.consumer

        def consume() -> None:
            # Between two connections there is none; the next one takes all the queues chosen above.
            if consumer.task_consumer is not None:
                consumer.add_task_queue(direct_queue(process_id))

        consumer.call_soon(consume)

    # -- its end ---------------------------------------------------------------------------------------

    def watch_for_end(self) -> None:
        """Drain when the bell rings, then end the worker."""
        threading.Thread(target=self._drain_when_asked, name="drain", daemon=True).start()

    def _drain_when_asked(self) -> None:
        self.bell.wait(None)
        self.end(0 if self.drain.run() else 1)
        if self.owns_process:
            # Whatever still holds Celery up then, the jobs have been handed back.
            threading.Event().wait(EXIT_SECONDS)
            log.error("worker.forced_exit", text=f"Celery did not end within {EXIT_SECONDS:g} s of the drain")
            os._exit(self.exit_code or 0)

    def end(self, exit_code: int) -> None:
        """Let Celery's loop end; it looks at this about once a second."""
        if self.exit_code is None:
            self.exit_code = exit_code
        state.should_stop = self.exit_code

    def stop(self) -> None:
        """Stop the threads. A worker that was not drained (Celery ends by itself) is drained first; one that
        has failed does not wait for its runs."""
        drained = self.drain.run(hurry=bool(self.exit_code))
        if self.exit_code is None:
            self.exit_code = 0 if drained else 1
        for loop in reversed(self._loops):
            loop.stop(STOP_SECONDS)
        LOSSES.listen(None)

    # -- what the drain asks for -----------------------------------------------------------------------

    @property
    def process_id(self) -> UUID:
        return self.incarnation.id

    def take_nothing_new(self) -> None:
        """Stop claiming, and leave the queues of plain tasks to other workers."""
        self.dispatcher.stop(STOP_SECONDS)
        for deliverer in self._deliverers:
            deliverer.close()
        consumer = self._worker.consumer
        if getattr(consumer, "task_consumer", None) is not None:
            for name in self.incarnation.queues:
                consumer.call_soon(consumer.cancel_task_queue, name)

    def stop_working(self, key: RunKey) -> bool:
        """Kill a run's process; False where only a thread works on it."""
        return self._killer.stop_working(key)

    def kill_foreign(self) -> None:
        """Kill the processes of plain Celery tasks that outlasted the grace."""
        if not self.incarnation.can_kill:
            return
        for request in inflight.plain_active():
            if request.worker_pid:
                self._worker.pool.terminate_job(request.worker_pid, signal.SIGKILL)

    def leave(self) -> None:
        """Nothing will be sent to this incarnation any more, and it beats no more: a late beat would find it
        stopped, and take that for somebody else's word."""
        for deliverer in self._deliverers:
            if self.drain.hurried:
                deliverer.hurry()
            deliverer.stop(STOP_SECONDS)
        self._watchdog.stop(STOP_SECONDS)
        self._heartbeat.stop(STOP_SECONDS)
        self.sender.remove_queue(self.incarnation.id)
