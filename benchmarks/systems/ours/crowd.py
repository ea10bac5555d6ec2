"""A million jobs in a moment: one that the platform made, multiplied by the database; and claims among them."""

from __future__ import annotations

import time
from datetime import timedelta
from typing import Any
from uuid import UUID

from benchmarks.errors import NotMeasured
from benchmarks.systems.ours import jobs
from jobsplatform.kernel import clock, processes
from jobsplatform.kernel.audit import Actor
from tasks import control, dispatch, registry
from tasks.models import Job
from tasks.states import Priority

CLAIM = 50
"""Jobs of one round: TASKS__BATCH as shipped."""

KEY = "busy"
MOST_ROUNDS = 5_000


class Crowd:
    """Rows for one database, and a worker that claims there and runs nothing."""

    def __init__(self, connection: Any) -> None:
        self._connection = connection
        self._made = 0
        process = processes.register(
            "worker", name="bench", now=clock.now(), queues=["default"], concurrency=4 * CLAIM
        )
        self._worker = process.pk

    def startable(self, count: int) -> None:
        """Jobs that may start now."""
        self._multiply(jobs.noop.enqueue(number=0).id, count)

    def future(self, count: int) -> None:
        """More urgent ones, due tomorrow."""
        handler = jobs.noop.using(priority=Priority.URGENT, run_after=timedelta(days=1))
        self._multiply(handler.enqueue(number=0).id, count)

    def suspended(self, count: int) -> None:
        """More urgent ones of a suspended type."""
        control.suspend("type", jobs.suspended.spec.key, actor=Actor.system("bench"), reason="measuring")
        self._multiply(jobs.suspended.using(priority=Priority.URGENT).enqueue(number=0).id, count)

    def no_handler(self, count: int) -> None:
        """More urgent ones of a type that this worker does not know."""
        job_id = jobs.noop.using(priority=Priority.URGENT).enqueue(number=0).id
        Job.objects.filter(id=job_id).update(job_type="bench.unknown", handler_key=":bench.unknown")
        self._multiply(job_id, count)

    def key_busy(self, count: int) -> None:
        """More urgent ones whose concurrency key is held by a job in flight; as submitted, claims set them aside."""
        handler = jobs.noop.using(priority=Priority.URGENT, concurrency_key=KEY)
        handler.enqueue(number=0)
        self._round()
        if not Job.objects.filter(concurrency_key=KEY, worker_id=self._worker).exists():
            raise NotMeasured("the job that was to hold the concurrency key was not claimed")
        self._finish()
        self._multiply(handler.enqueue(number=0).id, count)

    def calm(self) -> float:
        """Claim until no row needs to be set aside any more; the longest round on the way, in seconds."""
        longest = 0.0
        for _ in range(MOST_ROUNDS):
            began = time.perf_counter()
            result = self._round()
            longest = max(longest, time.perf_counter() - began)
            self._finish()
            if not result.more:
                return longest
        raise NotMeasured(f"rows were still being set aside after {MOST_ROUNDS} claims")

    def settle(self) -> None:
        """The planner's statistics, as a server gathers them by itself."""
        with self._connection.cursor() as cursor:
            cursor.execute("VACUUM ANALYZE")

    def claims(self, rounds: int) -> list[float]:
        """Microseconds a job of each round of ``CLAIM`` jobs. What they took is made up for afterwards.

        Raises NotMeasured when one finds fewer.
        """
        costs = []
        for _ in range(rounds):
            began = time.perf_counter()
            result = self._round()
            taken = time.perf_counter() - began
            if result.claimed != CLAIM:
                raise NotMeasured(f"a round claimed {result.claimed} jobs, not {CLAIM}")
            costs.append(taken / CLAIM * 1e6)
            self._finish()
        self.startable(rounds * CLAIM)
        return costs

    def _round(self) -> dispatch.RoundResult:
        now = clock.now()
        processes.beat(self._worker, now)
        # The one that holds the key takes a slot.
        held = Job.objects.filter(worker_id=self._worker).count()
        view = dispatch.WorkerView(self._worker, ("default",), registry.keys(), CLAIM + held)
        return dispatch.round(view, lambda claimed: None, now)

    def _finish(self) -> None:
        """What was claimed is done, but for the job that holds the key."""
        with self._connection.cursor() as cursor:
            cursor.execute(
                "UPDATE tasks_job SET state = 'completed', finished_at = now(), worker_id = NULL "
                "WHERE worker_id = %s AND concurrency_key = ''",
                [self._worker],
            )

    def _multiply(self, job_id: UUID | None, count: int) -> None:
        """``count`` rows like this one, each a microsecond after the one before."""
        self._made += 1
        columns = [field.column for field in Job._meta.concrete_fields]
        values = {
            "id": f"('{self._made:08x}' || lpad(to_hex(n), 24, '0'))::uuid",
            "due_at": "due_at + n * interval '1 microsecond'",
        }
        selected = ", ".join(values.get(column, f'"{column}"') for column in columns)
        names = ", ".join(f'"{column}"' for column in columns)
        with self._connection.cursor() as cursor:
            cursor.execute(
                f"INSERT INTO tasks_job ({names}) SELECT {selected} FROM tasks_job, generate_series(1, %s) n "
                "WHERE id = %s",
                [count - 1, job_id],
            )
