"""A worker whose session froze in mid-transaction keeps its rows; it is declared dead all the same."""

from datetime import timedelta
from typing import Any

import pytest

from jobsplatform.kernel import clock, config
from jobsplatform.kernel.loop import wait_until
from jobsplatform.kernel.models import Process
from jobsplatform.testing.factory import make_job
from tasks.models import Job
from tasks.states import Hold, State
from tasks.worker.sweeper import Sweeper
from tests.database.handlers.rows import held_elsewhere

pytestmark = [pytest.mark.django_db(transaction=True), pytest.mark.postgres]


class Judge:
    """May it say who is dead?"""

    may = False

    def may_judge(self, at: float) -> bool:
        return self.may


class NoSender:
    def remove_queue(self, process_id: Any) -> None: ...


def test_a_silent_worker_is_judged_though_it_holds_rows_that_the_sweep_wants() -> None:
    old = clock.now() - timedelta(minutes=1)
    dead = Process.objects.create(
        name="a", role=Process.Role.WORKER, host="h", pid=1, started_at=old, heartbeat_at=old
    )
    held, free = (make_job(State.RUNNING, worker_id=dead.id) for _ in range(2))
    parked = make_job(State.PENDING, hold=Hold.KEY, concurrency_key="k", concurrency_limit=1)
    judge = Judge()
    sweeper = Sweeper(judge, NoSender())  # type: ignore[arg-type]

    def in_mid_transaction() -> None:
        list(Job.objects.select_for_update().filter(id__in=[held.id, parked.id]).order_by("id"))

    with (
        config.override(tasks={"heartbeat_seconds": 0.1, "lease_seconds": 1}),
        held_elsewhere(in_mid_transaction),
    ):
        sweeper.start()
        wait_until(
            lambda: sweeper._failures > 0 or sweeper.last_round is not None, 5
        )  # it met the parked job
        judge.may = True
        wait_until(lambda: Process.objects.filter(id=dead.id, lost_at__isnull=False).exists(), 10)
        wait_until(lambda: Job.objects.get(id=free.id).state == State.PENDING, 10)
        assert Job.objects.get(id=held.id).state == State.RUNNING
    with config.override(tasks={"heartbeat_seconds": 0.1, "lease_seconds": 1}):
        wait_until(lambda: Job.objects.get(id=held.id).state == State.PENDING, 10)
    assert sweeper.stop()
