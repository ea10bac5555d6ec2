"""The thread that keeps the table true: dead workers' jobs, what has come due, what retention removes."""

from __future__ import annotations

import random

from jobsplatform.kernel import clock, config, db, events
from jobsplatform.kernel.loop import Loop
from tasks import prune, rescue
from tasks.events import WorkerLost
from tasks.heartbeat import Trust
from tasks.worker.sender import Sender

PRUNE_SECONDS = 60.0
FULL_BATCH = 500
LOCK_MILLISECONDS = 1000


class Sweeper(Loop):
    """Sweeps about once a heartbeat, at times of its own so that many workers do not all sweep together.

    The dead are declared only by a worker whose own heartbeats have come without a gap for a whole lease.
    """

    name = "sweeper"

    def __init__(self, trust: Trust, sender: Sender) -> None:
        super().__init__()
        self._trust = trust
        self._sender = sender
        self._pruned_at: float | None = None

    def start(self) -> None:
        events.subscribe(WorkerLost, self._queue_of_the_dead)
        super().start()

    def stop(self, timeout: float | None = 10.0) -> bool:
        events.unsubscribe(WorkerLost, self._queue_of_the_dead)
        return super().stop(timeout)

    def wait_seconds(self) -> float:
        return config.get().tasks.heartbeat_seconds * random.uniform(0.7, 1.3)

    def step(self) -> bool:
        # A session that froze in mid-transaction keeps its rows; behind one nobody would judge its worker any more.
        db.limit_lock_waits(LOCK_MILLISECONDS)
        at, now = clock.monotonic(), clock.now()
        if self._trust.may_judge(at):
            rescue.rescue_dead(now, config.get().tasks.lease_seconds)
        rescue.sweep(now)
        if self._pruned_at is None or at - self._pruned_at >= PRUNE_SECONDS:
            removed = prune.prune(now, batch=FULL_BATCH)
            # More than one batch is removed batch by batch, so that nothing else waits long.
            self._pruned_at = None if removed >= FULL_BATCH else at
        return False

    def _queue_of_the_dead(self, event: WorkerLost) -> None:
        self._sender.remove_queue(event.process_id)
