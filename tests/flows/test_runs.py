"""One prefork worker, and jobs that behave well, badly and fatally."""

from __future__ import annotations

import os
import signal
from collections.abc import Callable
from pathlib import Path
from uuid import UUID

import pytest
import redis
from django.db import connection

from jobsplatform.celery import app
from jobsplatform.kernel.audit import Actor
from jobsplatform.kernel.ids import uuid7
from tasks import control
from tasks.models import Job, JobAttempt
from tasks.states import Cause, State
from tasks.submit import enqueue
from tasks.worker.sender import WORKER_HEADER, direct, message_id
from tests.flows.processes import Worker, ended, in_state, notes, until

pytestmark = pytest.mark.flow

OPERATOR = Actor.system("test")


@pytest.fixture(scope="module")
def worker(start_worker: Callable[..., Worker]) -> Worker:
    return start_worker("-c", "2")


def send(worker: Worker, job_id: UUID | str, lease: object, **headers: str) -> None:
    """Put a message into the worker's own queue, as a second delivery or a forger would."""
    app.send_task(
        "core.tasks.run",
        args=(str(job_id), lease),
        task_id=f"{message_id(uuid7(), 1)}",
        queue=direct(worker.process_id),
        headers=headers or {WORKER_HEADER: str(worker.process_id)},
    )


@pytest.mark.parametrize("raw", [b"{not json", b"\xff\xfe", b"5", b"null", b"[]", b"{}", b'{"body": 1}'])
def test_what_is_no_message_at_all_costs_a_connection_not_the_worker(
    worker: Worker, raw: bytes, redis_url: str
) -> None:
    queue = direct(worker.process_id).name
    client = redis.Redis.from_url(redis_url)
    client.lpush(queue, raw)
    until(lambda: not client.llen(queue))
    works(worker)


def works(worker: Worker) -> None:
    """The worker still takes and completes jobs."""
    assert worker.process.poll() is None
    assert ended(enqueue("flow.add", {"a": 1, "b": 2}).id).state == State.COMPLETED


def test_a_job_runs_and_its_result_is_stored(worker: Worker) -> None:
    job = ended(enqueue("flow.add", {"a": 2, "b": 40}).id)
    assert (job.state, job.result, job.lease, job.failures) == (State.COMPLETED, 42, 1, 0)


def test_a_killed_pool_process_gives_its_job_back_at_once(worker: Worker, path: str, tmp_path: Path) -> None:
    go = tmp_path / "go"
    job_id = enqueue("flow.until", {"path": path, "go": str(go)}).id
    (first,) = until(lambda: notes(path))
    os.kill(first, signal.SIGKILL)
    starts = until(lambda: notes(path) if len(notes(path)) == 2 else None)
    go.touch()
    job = ended(job_id)
    assert job.state == State.COMPLETED
    assert len(set(starts)) == 2
    assert (job.lease, job.crashes, job.failures) == (2, 1, 0)
    assert [a.outcome for a in JobAttempt.objects.filter(job_id=job_id)] == ["lose", "complete"]
    # It came back by the parent's word, not because the worker was taken for dead.
    assert worker.row is not None and worker.row.lost_at is None


def test_a_job_that_kills_its_process_each_time_starts_three_times(worker: Worker, path: str) -> None:
    killer = enqueue("flow.suicide", {"path": path}).id
    others = [enqueue("flow.add", {"a": n, "b": 0}).id for n in range(10)]
    job = ended(killer)
    assert (job.state, job.cause, len(notes(path))) == (State.FAILED, Cause.CRASHED, 3)
    assert [ended(other).result for other in others] == list(range(10))


def test_a_second_delivery_does_nothing(worker: Worker, path: str, tmp_path: Path) -> None:
    go = tmp_path / "go"
    job_id = enqueue("flow.until", {"path": path, "go": str(go)}).id
    until(lambda: notes(path))
    send(worker, job_id, 1)
    works(worker)
    go.touch()
    completed = ended(job_id)
    send(worker, job_id, 1)
    works(worker)
    again = Job.objects.get(id=job_id)
    assert (again.state, again.revision) == (State.COMPLETED, completed.revision)
    assert len(notes(path)) == 1


def test_a_message_of_a_cancelled_job_does_nothing(worker: Worker, path: str) -> None:
    job_id = enqueue("flow.work", {"path": path}, queue="nobody").id
    control.cancel(job_id, actor=OPERATOR)
    for lease in (0, 1, 2):
        send(worker, job_id, lease)
    works(worker)
    assert Job.objects.get(id=job_id).state == State.CANCELLED
    assert notes(path) == []


@pytest.mark.parametrize(
    ("job_id", "lease"),
    [("not-an-id", 1), (str(uuid7()), 1), (str(uuid7()), "1"), (str(uuid7()), -1), (str(uuid7()), 10**30)],
)
def test_messages_that_make_no_sense_are_dropped(worker: Worker, job_id: str, lease: object) -> None:
    send(worker, job_id, lease)
    works(worker)


def test_messages_of_other_shapes_are_dropped(worker: Worker) -> None:
    queue = direct(worker.process_id)
    app.send_task("core.tasks.run", args=(), queue=queue)
    app.send_task("core.tasks.run", args=(1, 2, 3), kwargs={"x": {}}, queue=queue)
    app.send_task("there.is.no.such.task", args=(1,), queue=queue)
    with app.connection_for_write() as broker:
        producer = broker.Producer()
        for body, kind in (
            (b"{broken", "application/json"),
            (b"\x80\x04.", "application/x-python-serialize"),
        ):
            producer.publish(
                body, queue.name, exchange=queue.exchange, declare=[queue], content_type=kind,
                content_encoding="utf-8", headers={"id": str(uuid7()), "task": "core.tasks.run"},
            )  # fmt: skip
    works(worker)
    with app.connection_for_read() as broker:
        until(lambda: not broker.default_channel.client.exists(queue.name))


def test_a_soft_limit_raises_in_the_handler(worker: Worker, path: str) -> None:
    job = ended(enqueue("flow.soft", {"path": path}).id)
    assert (job.state, job.cause) == (State.FAILED, Cause.TIMEOUT)
    assert notes(path, "end") == []


def test_a_handler_that_swallows_its_soft_limit_is_ended_by_the_hard_one(worker: Worker, path: str) -> None:
    job = ended(enqueue("flow.swallow", {"path": path}).id)
    assert (job.state, job.cause) == (State.FAILED, Cause.TIMEOUT)
    assert notes(path, "swallowed")
    works(worker)
    assert Job.objects.get(id=job.id).progress_done == job.progress_done


def test_the_time_limit_counts_from_the_start_not_from_the_queue(
    worker: Worker, path: str, tmp_path: Path
) -> None:
    go, other = tmp_path / "go", str(tmp_path / "others")
    blockers = [enqueue("flow.until", {"path": other, "go": str(go)}).id for _ in range(2)]
    until(lambda: len(notes(other)) == 2)
    limited = enqueue("flow.limited", {"path": path}).id
    # Longer in the queue than its limit of 1.5 s allows it to run.
    made = Job.objects.get(id=limited).created_at
    until(lambda: worker.row is not None and (worker.row.heartbeat_at - made).total_seconds() > 2)
    go.touch()
    assert ended(limited).result == "in time"
    assert {ended(blocker).state for blocker in blockers} == {State.COMPLETED}


def test_a_deaf_handler_is_killed_after_its_grace(worker: Worker, path: str) -> None:
    job_id = enqueue("flow.deaf", {"path": path}).id
    (process,) = until(lambda: notes(path))
    assert control.cancel(job_id, actor=OPERATOR).how == "requested"
    job = ended(job_id)
    assert (job.state, job.cause) == (State.CANCELLED, Cause.CANCELLED)
    assert process not in {child.pid for child in worker.children}
    works(worker)
    assert len(notes(path)) == 1


def test_a_polite_handler_sees_its_cancel(worker: Worker, path: str) -> None:
    job_id = enqueue("flow.polite", {"path": path}).id
    (process,) = until(lambda: notes(path))
    control.cancel(job_id, actor=OPERATOR)
    assert ended(job_id).state == State.CANCELLED
    assert process in {child.pid for child in worker.children}


def test_memory_errors_and_exits_are_contained(worker: Worker) -> None:
    failing = [enqueue("flow.memory", {}).id for _ in range(5)] + [enqueue("flow.exit", {}).id]
    assert {(ended(job).state, ended(job).cause) for job in failing} == {(State.FAILED, Cause.PANICKED)}
    works(worker)


def test_an_exception_that_does_not_pickle_is_stored(worker: Worker) -> None:
    job = ended(enqueue("flow.unpicklable", {}).id)
    assert (job.state, job.cause, job.failures) == (State.FAILED, Cause.HANDLER, 2)
    assert "code 8" in job.error
    works(worker)


@pytest.mark.parametrize("kind", ["flow.breaks_transaction", "flow.leaves_transaction"])
def test_a_broken_transaction_hurts_nobody_else(worker: Worker, kind: str) -> None:
    broken = [ended(enqueue(kind, {}).id) for _ in range(3)]
    assert all(job.state in (State.COMPLETED, State.FAILED) for job in broken)
    for _ in range(3):
        works(worker)


def test_database_sessions_cut_while_idle(worker: Worker) -> None:
    assert ended(enqueue("flow.backend", {}).id).state == State.COMPLETED
    with connection.cursor() as cursor:
        cursor.execute(
            "SELECT count(pg_terminate_backend(pid)) FROM pg_stat_activity "
            "WHERE datname = current_database() AND pid <> pg_backend_pid()"
        )
        assert cursor.fetchone()[0] > 0
    for _ in range(4):
        assert ended(enqueue("flow.backend", {}).id).state == State.COMPLETED
    assert worker.process.poll() is None


def test_cancelling_ended_jobs_changes_nothing(worker: Worker) -> None:
    done = [ended(enqueue("flow.add", {"a": n, "b": 0}).id) for n in range(20)]
    assert {control.cancel(job.id, actor=OPERATOR).how for job in done} == {"already_ended"}
    assert {Job.objects.get(id=job.id).state for job in done} == {State.COMPLETED}
    works(worker)


def test_the_worker_serves_its_queues_alone(worker: Worker, path: str) -> None:
    elsewhere = enqueue("flow.work", {"path": path}, queue="nobody").id
    works(worker)
    assert in_state(elsewhere, State.PENDING).lease == 0
    control.cancel(elsewhere, actor=OPERATOR)
