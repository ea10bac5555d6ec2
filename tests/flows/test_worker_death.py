"""A worker dies: its jobs come back within the lease, wherever the next worker comes from."""

from __future__ import annotations

import signal
from collections.abc import Callable
from pathlib import Path

import pytest

from jobsplatform.celery import app
from jobsplatform.kernel.audit import Actor
from jobsplatform.kernel.models import Process
from tasks import control
from tasks.states import State
from tasks.submit import enqueue
from tasks.worker.sender import direct
from tests.flows.processes import Worker, ended, in_state, notes, until

pytestmark = pytest.mark.flow


def test_jobs_of_a_killed_worker_come_back(
    start_worker: Callable[..., Worker], path: str, tmp_path: Path
) -> None:
    go = tmp_path / "go"
    dying = start_worker("-c", "1", "-n", "same@host")
    job_id = enqueue("flow.until", {"path": path, "go": str(go)}).id
    waiting = enqueue("flow.add", {"a": 1, "b": 1}).id
    until(lambda: notes(path))
    dead = dying.process_id
    dying.kill()
    queue = direct(dead)
    app.send_task("core.tasks.run", args=("late", 1), queue=queue)

    # The same name again: names of containers repeat, incarnations do not.
    rescuer = start_worker("-c", "2", "-n", "same@host")
    until(lambda: len(notes(path)) == 2)
    go.touch()
    job = ended(job_id)
    assert (job.state, job.lease, job.losses, job.crashes) == (State.COMPLETED, 2, 1, 0)
    assert ended(waiting).state == State.COMPLETED
    assert Process.objects.get(id=dead).lost_at is not None

    def queue_is_gone() -> bool:
        with app.connection_for_read() as broker:
            client = broker.default_channel.client
            return not client.exists(queue.name) and not client.exists(f"_kombu.binding.{queue.name}")

    until(queue_is_gone)
    rescuer.send(signal.SIGTERM)
    assert rescuer.exit_code() == 0


def test_a_job_is_not_rescued_from_a_worker_that_beats(
    start_worker: Callable[..., Worker], path: str, tmp_path: Path
) -> None:
    go = tmp_path / "go"
    first, second = start_worker("-c", "1", "-n", "a@host"), start_worker("-c", "1", "-n", "b@host")
    job_id = enqueue("flow.until", {"path": path, "go": str(go)}).id
    until(lambda: notes(path))
    # Three leases of 1.5 s, measured by the workers' own beats.
    started = in_state(job_id, State.RUNNING).started_at
    assert started is not None
    until(
        lambda: all(w.row and (w.row.heartbeat_at - started).total_seconds() > 4.5 for w in (first, second))
    )
    go.touch()
    assert (ended(job_id).lease, len(notes(path))) == (1, 1)
    for worker in (first, second):
        worker.send(signal.SIGTERM)
        assert worker.exit_code() == 0


def test_a_worker_that_was_frozen_goes_on_as_a_new_one(
    start_worker: Callable[..., Worker], path: str, tmp_path: Path
) -> None:
    frozen = start_worker("-c", "1", "-n", "frozen@host")
    before = frozen.process_id
    job_id = enqueue("flow.polite", {"path": path}).id
    until(lambda: notes(path))
    frozen.send(signal.SIGSTOP)
    rescuer = start_worker("-c", "1", "-n", "rescuer@host")
    until(lambda: Process.objects.filter(id=before, lost_at__isnull=False).exists())
    until(lambda: len(notes(path)) == 2)
    frozen.send(signal.SIGCONT)
    until(lambda: frozen.process_id != before)
    control.cancel(job_id, actor=Actor.system("test"))
    assert ended(job_id).state == State.CANCELLED
    # Alone again, it takes jobs from its new queue.
    rescuer.send(signal.SIGTERM)
    assert rescuer.exit_code() == 0
    assert ended(enqueue("flow.add", {"a": 1, "b": 1}).id).state == State.COMPLETED
    frozen.send(signal.SIGTERM)
    assert frozen.exit_code() == 0
