"""The heartbeat of a process that runs no jobs (web, scheduler): its row, and its clock in step with the
database's."""

from __future__ import annotations

import logging
import socket
from collections.abc import Callable
from typing import Any
from uuid import UUID

from django.db import DatabaseError, connections

from jobsplatform.kernel import clock, config, processes
from jobsplatform.kernel.loop import Loop

logger = logging.getLogger("jobsplatform.presence")

STOP_SECONDS = 2.0


class Presence(Loop):
    """Registers this process once the database answers, and again when it was declared lost.

    ``works``: whether the process does what it is for; while it does not, it falls silent, for others to see.
    ``tells``: what else is written into its row at each heartbeat.
    """

    def __init__(
        self,
        role: str,
        works: Callable[[], bool] = lambda: True,
        tells: Callable[[], dict[str, object]] | None = None,
    ) -> None:
        super().__init__()
        self.name = f"{role}-presence"
        self.process_id: UUID | None = None
        self._role = role
        self._works = works
        self._tells = tells

    def step(self) -> bool:
        clock.current().sync()
        if not self._works():
            return False
        now = clock.now()
        changes: dict[str, Any] = {"info": self._tells()} if self._tells is not None else {}
        if self.process_id is None or not processes.beat(self.process_id, now, **changes):
            name = f"{self._role}@{socket.gethostname()}"
            self.process_id = processes.register(self._role, name=name, now=now).pk
        return False

    def wait_seconds(self) -> float:
        return config.get().tasks.heartbeat_seconds

    def run(self) -> None:
        super().run()
        if self.process_id is None:
            return
        try:
            processes.stop(self.process_id, clock.now())
        except DatabaseError as error:
            # The row falls silent and is found lost, as after a crash.
            logger.warning("%s could not say that it stops: %s", self.name, error)
        finally:
            connections.close_all()
