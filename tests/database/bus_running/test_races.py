"""Sidecars that race, on real connections: the row decides, and one of them is told so."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator, Sequence
from typing import Any, TypeVar
from uuid import UUID, uuid4

import pytest
from django.db import connection, transaction

from jobsplatform.kernel import clock, processes
from jobsplatform.kernel.audit import Actor
from jobsplatform.kernel.errors import StaleLease
from jobsplatform.kernel.loop import wait_until
from tasks import control, finish, registry, remote, rescue, submit
from tasks.bus import bindings, runner
from tasks.models import Job, JobAttempt
from tasks.outcomes import Ending
from tasks.requests import JobRequest
from tests.database.bus.client import Answer, make_client
from tests.database.test_races import together

pytestmark = [pytest.mark.postgres, pytest.mark.django_db(transaction=True)]
ACTOR = Actor("racer", "system")
APP = "racing"
T = TypeVar("T")


@pytest.fixture(autouse=True)
def bound() -> Iterator[None]:
    """A type of the app."""
    with registry.preserved():
        bindings.install()
        bindings.register(APP, bindings.Wanted("race", "svc"), actor=ACTOR, now=clock.now())
        yield


def sidecar() -> runner.Sidecar:
    return runner.Sidecar(APP, uuid4())


def claim(who: runner.Sidecar, limit: int = 1) -> list[Job]:
    return list(runner.claim(who, runner.Appetite(["race"], limit, 100), clock.now()).jobs)


def begun() -> Job:
    submit.submit(JobRequest("race", app_id=APP))
    (job,) = claim(sidecar())
    return job


def settled(calls: Sequence[Callable[[], T]]) -> list[T | None]:
    """Their answers; None for whoever lost the lease."""

    def one(call: Callable[[], T]) -> T | None:
        try:
            return call()
        except StaleLease:
            return None

    return together([lambda call=call: one(call) for call in calls])


def completing(job: Job) -> Callable[[], Any]:
    return lambda: remote.end(APP, job.id, job.lease, Ending("completed", result=1), clock.now())


def test_no_job_is_given_to_two_sidecars():
    submit.submit_many([JobRequest("race", app_id=APP) for _ in range(60)])
    sidecars = [sidecar() for _ in range(6)]
    given = [job.id for jobs in together([lambda s=s: claim(s, 10) for s in sidecars]) for job in jobs]
    while more := [job.id for s in sidecars for job in claim(s, 10)]:
        given += more
    assert len(given) == len(set(given)) == 60


def test_one_sidecar_that_asks_twice_at_once_is_one_incarnation():
    submit.submit_many([JobRequest("race", app_id=APP) for _ in range(8)])
    who = sidecar()
    given: list[UUID] = [job.id for jobs in together([lambda: claim(who, 2)] * 4) for job in jobs]
    assert len(given) == len(set(given))
    assert set(Job.objects.filter(id__in=given).values_list("worker_id", flat=True)) == {
        runner.arrive(who, clock.now()).pk
    }


@pytest.mark.parametrize("round_", range(5))
def test_an_ending_said_twice_at_once_counts_once(round_: int):
    job = begun()
    answers = settled([completing(job)] * 4)
    assert sum(answer is not None for answer in answers) == 1
    assert JobAttempt.objects.filter(job=job).count() == 1


@pytest.mark.parametrize("round_", range(5))
def test_a_late_ending_against_the_rescue(round_: int):
    job = begun()
    assert job.worker_id is not None
    process_id = job.worker_id

    def take_back() -> str:
        now = clock.now()
        processes.declare_lost(process_id, now, silent_since=now)
        rescue.take_back(process_id, now, "it is silent")
        return "taken back"

    ended, _ = settled([completing(job), take_back])
    job.refresh_from_db()
    assert job.state == ("completed" if ended else "pending")
    assert (job.losses, JobAttempt.objects.filter(job=job).count()) == (0 if ended else 1, 1)


@pytest.mark.parametrize("round_", range(5))
def test_an_ending_against_the_hand_back(round_: int):
    job = begun()
    ended, back = settled(
        [completing(job), lambda: remote.hand_back(job.id, job.lease, "not named", clock.now())]
    )
    job.refresh_from_db()
    assert bool(ended) != bool(back)
    assert job.state == ("completed" if ended else "pending")


@pytest.mark.parametrize("round_", range(5))
def test_a_completion_against_a_cancel(round_: int):
    job = begun()
    ended, cancelled = settled([completing(job), lambda: control.cancel(job.id, actor=ACTOR).how])
    job.refresh_from_db()
    assert ended is not None
    assert (job.state, cancelled) in (("completed", "already_ended"), ("cancelled", "requested"))


@pytest.mark.parametrize("round_", range(3))
def test_progress_against_the_end(round_: int):
    job = begun()
    settled(
        [
            completing(job),
            lambda: remote.progress(APP, job.id, job.lease, 1, 2, "", clock.now()),
            lambda: remote.checkpoint(APP, job.id, job.lease, {"a": 1}, clock.now()),
            lambda: finish.timed_out(job.id, job.lease, clock.now()),
        ]
    )
    job.refresh_from_db()
    assert job.state in ("completed", "pending", "failed")
    assert JobAttempt.objects.filter(job=job).count() == 1


def test_a_child_of_a_parent_that_ends_at_this_moment():
    parent, client = begun(), make_client(APP)

    def somebody_waits() -> bool:
        with connection.cursor() as cursor:
            cursor.execute("SELECT 1 FROM pg_locks WHERE NOT granted LIMIT 1")
            return cursor.fetchone() is not None

    def end() -> None:
        with transaction.atomic():
            completing(parent)()
            ended.set()
            assert wait_until(somebody_waits, timeout=30, every=0.01)

    def create() -> Answer:
        assert ended.wait(30)
        return client.call("jobs.create", {"job_type": "race", "parent_id": str(parent.id)})

    ended = threading.Event()
    _, answer = together([end, create])
    assert answer.code == "STATE_CONFLICT"
    assert not Job.objects.filter(parent_id=parent.id).exists()
