"""Who this worker is: one incarnation after the other, each with a row and a queue of its own."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from uuid import UUID

import structlog

from jobsplatform.kernel import processes
from tasks import registry

log = structlog.get_logger("jobsplatform.worker")

DIRECT_PREFIX = "jobs."


def direct_queue(process_id: UUID) -> str:
    """The name of the queue that only this incarnation consumes."""
    return f"{DIRECT_PREFIX}{process_id}"


@dataclass
class Incarnation:
    """The worker as others see it. ``process_id`` changes when others took it for dead and it goes on."""

    name: str
    queues: Sequence[str]
    concurrency: int
    can_kill: bool
    pool: str
    process_id: UUID | None = None
    on_renewed: list[Callable[[UUID], None]] = field(default_factory=list)

    def register(self, now: datetime) -> UUID:
        """Begin a new incarnation: a new row, a new id."""
        row = processes.register(
            "worker",
            name=self.name,
            now=now,
            queues=self.queues,
            concurrency=self.concurrency,
            handlers=registry.own_keys(),
            capabilities={"kill": self.can_kill},
            info={"pool": self.pool},
        )
        self.process_id = row.pk
        return row.pk

    def renew(self, now: datetime) -> UUID:
        """Others declared this worker dead and took its jobs back: go on under a new id."""
        old, new = self.process_id, self.register(now)
        log.warning(
            "worker.renewed",
            text="others took this worker for dead and took its jobs back; it goes on as a new one",
            old_process_id=str(old),
            process_id=str(new),
        )
        for callback in self.on_renewed:
            callback(new)
        return new

    @property
    def id(self) -> UUID:
        """The id of the incarnation that lives now."""
        if self.process_id is None:
            raise RuntimeError("the worker has not registered yet")
        return self.process_id
