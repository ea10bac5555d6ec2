"""What keeps the table true where no worker does: a platform whose jobs all run in sidecars needs none."""

from __future__ import annotations

import random

from jobsplatform.kernel import clock, config, processes
from jobsplatform.kernel.loop import Loop
from jobsplatform.kernel.models import Process
from tasks import prune, rescue
from tasks.heartbeat import Trust

PRUNE_SECONDS = 60.0
BATCH = 500


class Keeper(Loop):
    """Looks about once a heartbeat; sweeps, rescues and prunes as a worker does, while there is none."""

    name = "bus-keeper"

    def __init__(self) -> None:
        super().__init__()
        self._trust = Trust(config.get().tasks.lease_seconds, clock.monotonic())
        self._pruned_at = float("-inf")

    def wait_seconds(self) -> float:
        return config.get().tasks.heartbeat_seconds * random.uniform(0.7, 1.3)

    def step(self) -> bool:
        clock.current().sync()
        at, now = clock.monotonic(), clock.now()
        lease = config.get().tasks.lease_seconds
        worked = processes.live(now, lease).filter(role=Process.Role.WORKER).exists()
        self._trust.beaten(at)
        if worked:
            return False
        if self._trust.may_judge(at):
            rescue.rescue_dead(now, lease)
        rescue.sweep(now)
        if at - self._pruned_at >= PRUNE_SECONDS:
            removed = prune.prune(now, batch=BATCH)
            self._pruned_at = float("-inf") if removed >= BATCH else at
        return False

    def failed(self, error: Exception) -> None:
        self._trust.missed()
