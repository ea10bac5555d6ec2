"""SIGTERM while busy: finish, or hand back; never running for ever."""

from __future__ import annotations

import signal
from collections.abc import Callable
from pathlib import Path

import pytest

from jobsplatform.kernel.audit import Actor
from jobsplatform.kernel.models import Process
from tasks import control
from tasks.states import State
from tasks.submit import enqueue
from tests.flows.processes import Worker, ended, in_state, notes, until

pytestmark = pytest.mark.flow


def stopped(worker: Worker) -> Process:
    row = worker.row
    assert row is not None
    return row


def test_a_busy_worker_finishes_its_job_and_takes_no_other(
    start_worker: Callable[..., Worker], path: str, tmp_path: Path
) -> None:
    worker = start_worker("-c", "1")
    job_id = enqueue("flow.until", {"path": path, "go": str(tmp_path / "go")}).id
    until(lambda: notes(path))
    worker.send(signal.SIGTERM)
    until(lambda: stopped(worker).stopping)
    later = enqueue("flow.add", {"a": 1, "b": 1}).id
    beat = stopped(worker).heartbeat_at
    until(lambda: stopped(worker).heartbeat_at > beat)
    (tmp_path / "go").touch()
    assert worker.exit_code() == 0
    assert ended(job_id).state == State.COMPLETED
    assert in_state(later, State.PENDING).lease == 0
    assert stopped(worker).stopped_at is not None
    control.cancel(later, actor=Actor.system("test"))


def test_a_second_sigterm_hands_the_job_back(
    start_worker: Callable[..., Worker], path: str, tmp_path: Path
) -> None:
    worker = start_worker("-c", "1")
    job_id = enqueue("flow.until", {"path": path, "go": str(tmp_path / "go")}).id
    until(lambda: notes(path))
    worker.send(signal.SIGTERM)
    until(lambda: stopped(worker).stopping)
    worker.send(signal.SIGTERM)
    assert worker.exit_code() == 0
    job = in_state(job_id, State.PENDING)
    assert (job.failures, job.crashes, job.losses) == (0, 0, 0)
    assert "shutdown" in job.reason
    control.cancel(job_id, actor=Actor.system("test"))


def test_past_its_grace_a_polite_job_saves_and_a_deaf_one_is_killed(
    start_worker: Callable[..., Worker], path: str, tmp_path: Path
) -> None:
    worker = start_worker("-c", "2", TASKS__SHUTDOWN_GRACE_SECONDS="3", TASKS__CANCEL_GRACE_SECONDS="60")
    deaf_path = str(tmp_path / "deaf")
    polite = enqueue("flow.polite", {"path": path}).id
    deaf = enqueue("flow.until", {"path": deaf_path, "go": str(tmp_path / "never")}).id
    until(lambda: notes(path) and notes(deaf_path))
    worker.send(signal.SIGTERM)
    assert worker.exit_code() == 0
    for job_id in (polite, deaf):
        job = in_state(job_id, State.PENDING)
        assert (job.failures, job.crashes, job.losses, job.worker_id) == (0, 0, 0, None)
    assert in_state(polite, State.PENDING).checkpoint > 0
    for job_id in (polite, deaf):
        control.cancel(job_id, actor=Actor.system("test"))


def test_a_job_cancelled_while_no_worker_lives_never_runs(
    start_worker: Callable[..., Worker], path: str
) -> None:
    job_id = enqueue("flow.work", {"path": path}).id
    control.cancel(job_id, actor=Actor.system("test"))
    worker = start_worker("-c", "1")
    assert ended(enqueue("flow.add", {"a": 1, "b": 1}).id).state == State.COMPLETED
    worker.send(signal.SIGINT)
    assert worker.exit_code() == 0
    assert stopped(worker).stopped_at is not None
    assert ended(job_id).state == State.CANCELLED
    assert notes(path) == []
