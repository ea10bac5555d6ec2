"""A prefork worker in the situations that other queues are known to get wrong."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest
from django.db import transaction

from jobsplatform.kernel.audit import Actor
from tasks import control
from tasks.models import Job
from tasks.states import FINAL, MOVES, Cause, Priority, State
from tasks.submit import enqueue
from tests.flows.processes import Worker, ended, in_state, notes, until

pytestmark = pytest.mark.flow

OPERATOR = Actor.system("test")


@pytest.fixture(scope="module")
def worker(start_worker: Callable[..., Worker]) -> Worker:
    return start_worker("-c", "2")


def beats(worker: Worker, more: int = 2) -> None:
    """Until the worker's heart has beaten so often: its dispatcher has looked in between."""
    for _ in range(more):
        row = worker.row
        assert row is not None
        last = row.heartbeat_at
        until(lambda last=last: worker.row is not None and worker.row.heartbeat_at > last)


class RolledBack(Exception):
    pass


def test_a_job_waits_for_its_callers_commit_and_is_gone_with_its_rollback(
    worker: Worker, path: str, tmp_path: Path
) -> None:
    with transaction.atomic():
        job_id = enqueue("flow.work", {"path": path}).id
        beats(worker)
        assert notes(path) == [], "nobody sees it before the commit"
    assert ended(job_id).state == State.COMPLETED
    never = str(tmp_path / "never")
    with pytest.raises(RolledBack), transaction.atomic():
        gone = enqueue("flow.work", {"path": never}).id
        raise RolledBack
    beats(worker)
    assert notes(never) == []
    assert not Job.objects.filter(id=gone).exists()


def test_an_inner_rollback_leaves_the_outer_job(worker: Worker, path: str, tmp_path: Path) -> None:
    inner = str(tmp_path / "inner")
    with transaction.atomic():
        outer = enqueue("flow.work", {"path": path}).id
        with pytest.raises(RolledBack), transaction.atomic():
            enqueue("flow.work", {"path": inner})
            raise RolledBack
    assert ended(outer).state == State.COMPLETED
    beats(worker)
    assert notes(inner) == []


def test_jobs_in_line_behind_a_busy_worker_can_be_cancelled(
    worker: Worker, path: str, tmp_path: Path
) -> None:
    go, others = tmp_path / "go", str(tmp_path / "others")
    blockers = [enqueue("flow.until", {"path": others, "go": str(go)}).id for _ in range(2)]
    until(lambda: len(notes(others)) == 2)
    kept, cancelled = (enqueue("flow.work", {"path": f"{path}.{n}"}).id for n in "ab")
    beats(worker)
    assert control.cancel(cancelled, actor=OPERATOR).how == "cancelled"
    go.touch()
    assert [ended(job).state for job in (*blockers, kept)] == [State.COMPLETED] * 3
    beats(worker)
    assert ended(cancelled).state == State.CANCELLED
    assert notes(f"{path}.b") == []


def test_cancel_and_finish_in_one_moment_agree(worker: Worker, path: str) -> None:
    made = [enqueue("flow.work", {"path": f"{path}.{n}", "seconds": 0.05}).id for n in range(24)]
    answers = {}
    for job_id in made:
        until(lambda job_id=job_id: Job.objects.filter(id=job_id).exclude(state=State.PENDING).exists())
        answers[job_id] = control.cancel(job_id, actor=OPERATOR).how
    for job_id, how in answers.items():
        job = ended(job_id)
        assert job.state == (State.COMPLETED if how == "already_ended" else State.CANCELLED), how
        assert job.attempts.count() <= 1
        again = Job.objects.get(id=job_id)
        assert again.revision == job.revision


def test_an_urgent_job_starts_next_whatever_waits(worker: Worker, path: str) -> None:
    low = [
        enqueue("flow.work", {"path": path, "seconds": 0.3}, priority=Priority.BACKGROUND).id
        for _ in range(12)
    ]
    until(lambda: len(notes(path)) >= 4)
    urgent = ended(enqueue("flow.work", {"path": f"{path}.urgent"}, priority=Priority.URGENT).id)
    done = [ended(job_id) for job_id in low]
    overtaken = [
        job
        for job in done
        if job.started_at and urgent.started_at and urgent.created_at < job.started_at < urgent.started_at
    ]
    assert len(overtaken) <= 2, "at most what the two slots were about to start"
    assert any(job.started_at and urgent.started_at and job.started_at > urgent.started_at for job in done)


def test_a_hard_limit_frees_the_key_and_the_next_one_runs(worker: Worker, path: str) -> None:
    killed = enqueue("flow.swallow", {"path": path}, concurrency_key="one at a time").id
    until(lambda: notes(path))
    following = enqueue("flow.work", {"path": f"{path}.next"}, concurrency_key="one at a time").id
    first, second = ended(killed), ended(following)
    assert (first.state, first.cause) == (State.FAILED, Cause.TIMEOUT)
    assert second.state == State.COMPLETED
    assert first.finished_at and second.started_at and second.started_at >= first.finished_at


def test_whoever_polls_sees_states_in_a_legal_order(worker: Worker, path: str) -> None:
    legal = {(source, move.target) for move in MOVES for source in move.sources}
    job_id = enqueue("flow.work", {"path": path, "seconds": 0.3}).id
    seen = [State.PENDING]

    def over() -> bool:
        state = State(Job.objects.values_list("state", flat=True).get(id=job_id))
        if state != seen[-1]:
            seen.append(state)
        return state in FINAL

    until(over)
    assert seen[-1] == State.COMPLETED and State.RUNNING in seen
    # A look may miss a short state between two others; it never sees one go back.
    order = [State.PENDING, State.DISPATCHED, State.RUNNING, State.COMPLETED]
    assert [order.index(state) for state in seen] == sorted(order.index(state) for state in seen), legal


def test_a_killed_worker_leaves_no_key_blocked(
    start_worker: Callable[..., Worker], worker: Worker, path: str, tmp_path: Path
) -> None:
    dying = start_worker("-c", "1", "-Q", "cases", "-n", "dying@host")
    go = tmp_path / "go"
    params = {"path": path, "go": str(go)}
    keys = {"queue": "cases", "dedupe_key": "K", "concurrency_key": "C"}
    first = enqueue("flow.until", params, **keys)
    until(lambda: notes(path))
    dying.kill()
    second = enqueue("flow.until", params, **keys)
    assert (second.status, second.leader_id) == ("alias", first.id), "accepted; the one job will run again"
    heir = start_worker("-c", "1", "-Q", "cases", "-n", "heir@host")
    until(lambda: len(notes(path)) == 2)
    go.touch()
    assert [ended(result.id).state for result in (first, second)] == [State.COMPLETED] * 2
    third = enqueue("flow.until", params, **keys)
    assert third.status == "created", "the key is free after the end"
    assert ended(third.id).state == State.COMPLETED
    assert in_state(third.id, State.COMPLETED).lease == 1
    heir.kill()
