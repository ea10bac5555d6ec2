"""A million jobs in a moment: one that the platform made, multiplied by the database; and claims among them."""

from __future__ import annotations

import time
from datetime import timedelta
from typing import Any
from uuid import UUID

from benchmarks.errors import NotMeasured
from benchmarks.systems.ours import jobs
from jobsplatform.kernel import clock, config, processes
from jobsplatform.kernel.audit import Actor
from tasks import control, dispatch, pace, packing, registry
from tasks.models import Job, TypePace
from tasks.states import Priority

CLAIM = 50
"""Jobs of one round: TASKS__BATCH as shipped."""

PACKS = 2
"""Packs of one round: a worker with so many free slots."""

NOOP_SECONDS = 0.0001
"""As long as a run of the packed type is known to take."""

KEY = "busy"
ASIDE_ROUNDS = 40


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
        if count:
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
        self._unknown_pace()
        self._round(self._view(CLAIM))
        if not Job.objects.filter(concurrency_key=KEY, worker_id=self._worker).exists():
            raise NotMeasured("the job that was to hold the concurrency key was not claimed")
        self.startable(self._finish())
        self._multiply(handler.enqueue(number=0).id, count)

    def calm(self) -> float:
        """Claim while rows need to be set aside; the longest of the first ``ASIDE_ROUNDS`` rounds, in seconds. What
        is left then is set aside by the database."""
        self._unknown_pace()
        longest, claimed = 0.0, 0
        in_the_way = Job.objects.filter(state="pending", hold="", concurrency_key=KEY)
        for _ in range(ASIDE_ROUNDS):
            if not in_the_way.exists():
                break
            longest = max(longest, self._round(self._view(CLAIM)))
            claimed += self._finish()
        in_the_way.update(hold="key")
        self.startable(claimed)
        return longest

    def settle(self) -> None:
        """The planner's statistics, as a server gathers them by itself."""
        with self._connection.cursor() as cursor:
            cursor.execute("VACUUM ANALYZE")

    def claims(self, rounds: int) -> list[float]:
        """Microseconds a job of each round of ``CLAIM`` jobs, one message a job. What they took is made up for
        afterwards. Raises NotMeasured when one finds fewer."""
        self._unknown_pace()
        return self._costs(rounds, CLAIM, CLAIM)

    def packed_claims(self, rounds: int) -> list[float]:
        """The same for rounds of ``PACKS`` packs, each as large as packs get."""
        self._unknown_pace()
        pace.write(jobs.noop.spec.key, 10 * packing.KNOWN_RUNS, NOOP_SECONDS)
        return self._costs(rounds, PACKS, PACKS * packing.MOST)

    def _costs(self, rounds: int, messages: int, expected: int) -> list[float]:
        costs = []
        for _ in range(rounds):
            taken = self._round(self._view(messages))
            claimed = self._finish()
            if claimed != expected:
                raise NotMeasured(f"a round claimed {claimed} jobs, not {expected}")
            costs.append(taken / claimed * 1e6)
            self.startable(claimed)
        return costs

    def _unknown_pace(self) -> None:
        """Nothing is known of how long runs take: every job is a message of its own."""
        TypePace.objects.all().delete()
        pace.forget()

    def _view(self, messages: int) -> dispatch.WorkerView:
        """A worker with free slots for so many messages of normal jobs."""
        # The one that holds the key takes a slot; normal jobs leave the reserved ones alone.
        held = Job.objects.filter(state="dispatched", worker_id=self._worker).count()
        slots = messages + held + config.get().tasks.reserved_high_priority_slots
        processes.beat(self._worker, clock.now(), concurrency=slots)
        return dispatch.WorkerView(self._worker, ("default",), registry.keys(), messages + held)

    def _round(self, view: dispatch.WorkerView) -> float:
        """Seconds of one round."""
        began = time.perf_counter()
        dispatch.round(view, lambda claimed: None, clock.now())
        return time.perf_counter() - began

    def _finish(self) -> int:
        """What was claimed is done, but for the job that holds the key; how many that were."""
        with self._connection.cursor() as cursor:
            cursor.execute(
                "UPDATE tasks_job SET state = 'completed', finished_at = now(), worker_id = NULL, pack = NULL, "
                "slot = NULL "
                "WHERE state = 'dispatched' AND worker_id = %s AND concurrency_key = ''",
                [self._worker],
            )
            return int(cursor.rowcount)

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
