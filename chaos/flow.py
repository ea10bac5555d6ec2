"""Jobs of every kind, submitted all the time while a fault strikes; some of them are cancelled."""

from __future__ import annotations

import random
import threading
import time
from dataclasses import dataclass, field, replace
from datetime import datetime, timedelta
from uuid import UUID

from django.db import DatabaseError, close_old_connections, connection, connections

from chaos.scale import Scale
from jobsplatform.kernel.audit import Actor
from tasks import control
from tasks.requests import JobRequest
from tasks.submit import submit_many

ACTOR = Actor.system("chaos")
EVERY_SECONDS = 0.35


@dataclass(frozen=True, slots=True)
class Cancel:
    """A cancel that the platform said yes to, and when it had (monotonic)."""

    at: float
    running: bool
    """It ran then, under ``lease``, and was asked to stop; else it was cancelled on the spot."""
    lease: int


@dataclass(slots=True)
class Accepted:
    """What the platform has taken on."""

    tag: str
    jobs: set[UUID] = field(default_factory=set)
    cancelled: dict[UUID, Cancel] = field(default_factory=dict)
    due: dict[UUID, float] = field(default_factory=dict)
    """Jobs that must not start before (monotonic)."""
    refused: int = 0
    """Submissions that failed: nobody was told that such a job exists."""

    def ids(self) -> set[str]:
        """The jobs so far, as the file writes them; the flow goes on to add to them meanwhile."""
        return {str(job_id) for job_id in tuple(self.jobs)}

    def submit(self, requests: list[JobRequest]) -> list[UUID]:
        """Submit jobs of this fault. Raises DatabaseError while the database is away."""
        try:
            results = submit_many(requests)
        except DatabaseError:
            self.refused += len(requests)
            connections.close_all()
            raise
        ids = [result.id for result in results if result.id is not None]
        self.jobs.update(ids)
        return ids

    def one(self, job_type: str, *, queue: str = "default", **params: object) -> UUID:
        """Submit one job."""
        return self.submit([self.request(job_type, params, queue)])[0]

    def many(self, count: int, job_type: str, *, queue: str = "default", **params: object) -> list[UUID]:
        """Submit equal jobs."""
        return self.submit([self.request(job_type, params, queue)] * count)

    def request(self, job_type: str, params: dict[str, object], queue: str = "default") -> JobRequest:
        return JobRequest(f"chaos.{job_type}", params, queue=queue, user_id=self.tag)

    def cancel(self, job_id: UUID) -> None:
        """Cancel a job, if it has not ended."""
        result = control.cancel(job_id, actor=ACTOR)
        if result.how in ("cancelled", "requested"):
            self.cancelled[job_id] = Cancel(time.monotonic(), result.how == "requested", result.job.lease)


class Flow(threading.Thread):
    """Submits a mixed handful three times a second until it is stopped. It goes on when the database is away."""

    def __init__(self, accepted: Accepted, rng: random.Random, scale: Scale, queue: str) -> None:
        super().__init__(name="flow", daemon=True)
        self._accepted, self._rng, self._scale, self._queue = accepted, rng, scale, queue
        self._stopping = threading.Event()
        self.failed: BaseException | None = None

    def run(self) -> None:
        while not self._stopping.wait(EVERY_SECONDS):
            try:
                close_old_connections()
                self._submit_some()
            except DatabaseError:
                connections.close_all()
            except BaseException as error:
                self.failed = error
                break
        connections.close_all()

    def stop(self) -> None:
        """Stop submitting. Raises what broke the flow, if anything did."""
        self._stopping.set()
        self.join(30)
        if self.failed is not None:
            raise self.failed

    def _submit_some(self) -> None:
        accepted, rng = self._accepted, self._rng
        ids = accepted.submit([self._any() for _ in range(rng.randint(1, 4))])
        accepted.submit([accepted.request("packed", {}, self._queue)] * rng.choice([0, 0, 10, 30]))
        if rng.random() < 0.2:
            accepted.cancel(rng.choice(ids))
        if rng.random() < 0.2:
            self._submit_later()

    def _submit_later(self) -> None:
        """One that is not due yet, by the database's clock; it is read after the instant noted as its earliest."""
        seconds = self._rng.uniform(0.3, 1.2)
        request = self._accepted.request("plain", {"seconds": 0.01}, self._queue)
        earliest = time.monotonic() + seconds
        with connection.cursor() as cursor:
            cursor.execute("SELECT clock_timestamp()")
            read: datetime = cursor.fetchone()[0]
        due = replace(request, run_after=read + timedelta(seconds=seconds))
        for job_id in self._accepted.submit([due]):
            self._accepted.due[job_id] = earliest

    def _any(self) -> JobRequest:
        rng = self._rng
        short, longer = rng.uniform(0.005, 0.1), rng.choice([0.2, 0.5, self._scale(4)])
        kinds: list[tuple[str, dict[str, object]]] = [
            ("plain", {"seconds": rng.choice([short, short, longer])}),
            ("polite", {"seconds": rng.choice([short, longer])}),
            ("retrying", {"seconds": short, "fails": rng.choice([1, 2, 3])}),
            ("exclusive", {"seconds": short}),
            ("keyed", {"key": rng.choice("ab"), "seconds": short}),
            ("parent", {"children": rng.randint(1, 4), "seconds": short}),
            ("steps", {"count": rng.randint(2, 5), "seconds": short}),
        ]
        kind, params = rng.choice(kinds)
        return self._accepted.request(kind, params, self._queue)
