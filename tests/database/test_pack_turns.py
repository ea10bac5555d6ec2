"""The turns of a pack: ends and starts in one trip, and what is told of them, once and not late."""

from __future__ import annotations

from typing import Any

import pytest
from django.db import DatabaseError, OperationalError, connection

from jobsplatform.testing.platform import HandPlatform
from tasks import finish_many, pace, pack, packing
from tasks.events import RunEnded
from tasks.handlers import FunctionHandler, job
from tasks.models import Job, JobAttempt
from tasks.pack import PackRun
from tasks.sql import writes
from tasks.states import State


@pytest.fixture
def handler() -> FunctionHandler:
    @job("turn.short")
    def short(n: int = 0) -> int:
        return n

    pace.forget()
    pace.write(short.spec.key, 100, 0.001)
    return short


@pytest.fixture
def begun(jobs: HandPlatform, handler: FunctionHandler) -> PackRun:
    """A pack of ten whose first four have run and are not written yet."""
    jobs.add_worker(concurrency=1)
    for n in range(10):
        jobs.submit(handler, {"n": n})
    (message,) = jobs.worker.dispatch()
    assert message.pack is not None
    running = PackRun(message.pack, jobs.worker.id, jobs.make_port)
    assert running._run_part(running._turn(4)) == 4
    return running


def _states() -> list[str]:
    return sorted(Job.objects.values_list("state", flat=True))


def test_one_turn_writes_the_ends_and_starts_the_next_part(jobs: HandPlatform, begun: PackRun) -> None:
    assert len(begun._turn(3)) == 3
    assert _states() == [State.COMPLETED] * 4 + [State.DISPATCHED] * 3 + [State.RUNNING] * 3
    assert JobAttempt.objects.count() == 4


def test_ends_are_told_by_the_next_turn_once_they_are_written(jobs: HandPlatform, begun: PackRun) -> None:
    part = begun._turn(3)
    assert jobs.told(RunEnded) == []
    begun._run_part(part)
    begun._turn(3)
    assert len(jobs.told(RunEnded)) == 4


def test_no_end_waits_to_be_told_behind_a_run_that_takes_its_time(jobs: HandPlatform, begun: PackRun) -> None:
    begun._ready.extend(begun._turn(3))
    begun._pop()
    begun.keep()
    assert jobs.told(RunEnded) == []
    jobs.clock.advance(3 * packing.PART_SECONDS)
    begun.keep()
    begun.keep()
    assert len(jobs.told(RunEnded)) == 4


def test_all_is_told_when_the_pack_is_over_even_by_an_error(
    jobs: HandPlatform, begun: PackRun, monkeypatch: pytest.MonkeyPatch
) -> None:
    real, turns = PackRun._turn, []

    def turn(self: PackRun, most: int) -> list[Job]:
        turns.append(most)
        if len(turns) == 2:
            raise RuntimeError("the process is to end")
        return real(self, most)

    monkeypatch.setattr(PackRun, "_turn", turn)
    with pytest.raises(RuntimeError):
        begun.run()
    assert len(jobs.told(RunEnded)) == 4


@pytest.mark.parametrize("broken", ["_COMPLETE", "_SET_STARTED"])
def test_a_turn_that_fails_writes_and_tells_nothing_and_the_next_does_it_all(
    jobs: HandPlatform, begun: PackRun, monkeypatch: pytest.MonkeyPatch, broken: str
) -> None:
    if broken == "_COMPLETE" and connection.vendor != "postgresql":
        pytest.skip("SQLite has another statement for it")
    with monkeypatch.context() as patch:
        patch.setattr(writes, broken, getattr(writes, broken).replace("revision =", "no_such_column ="))
        with pytest.raises(DatabaseError):
            begun._turn(3)
    assert _states() == [State.DISPATCHED] * 6 + [State.RUNNING] * 4
    assert len(begun._turn(3)) == 3, "the connection is in order"
    begun.flush()
    begun._tell()
    assert _states().count(State.COMPLETED) == 4
    assert len(jobs.told(RunEnded)) == 4


def test_a_turn_that_is_tried_again_tells_once(
    jobs: HandPlatform, begun: PackRun, monkeypatch: pytest.MonkeyPatch
) -> None:
    begun._run_part(begun._turn(3))
    real, answers = finish_many.transitions.turn_pack, [OperationalError("deadlock"), None]

    def turn_pack(*arguments: Any) -> Any:
        answer = real(*arguments)
        if (error := answers.pop(0)) is not None:
            error.__cause__ = _Deadlock()
            raise error
        return answer

    monkeypatch.setattr(finish_many.transitions, "turn_pack", turn_pack)
    assert len(begun._turn(3)) == 3
    assert answers == []
    begun._tell()
    ids = [event.job_id for event in jobs.told(RunEnded)]
    assert len(ids) == len(set(ids)) == 7


class _Deadlock(Exception):
    sqlstate = "40P01"


def test_a_pack_runs_to_its_end(jobs: HandPlatform, begun: PackRun) -> None:
    assert begun.run() == 6
    assert _states() == [State.COMPLETED] * 10
    assert len(jobs.told(RunEnded)) == 10
    assert pack.run_pack(begun.pack, jobs.worker.id, can_kill=True) == 0
