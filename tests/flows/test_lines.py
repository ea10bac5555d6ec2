"""Short jobs that are sent ahead take turns in one slot of a real worker, each with a message of its own."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any
from uuid import UUID

import pytest

from tasks import pace
from tasks.handlers import FunctionHandler
from tasks.models import Job
from tasks.states import Priority, State
from tests.flows.flowapp.jobs import brief, timed
from tests.flows.processes import Worker, ended, until

pytestmark = pytest.mark.flow

MANY = 150
SETTINGS = {"TASKS__PACKING": "false", "TASKS__RESERVED_HIGH_PRIORITY_SLOTS": "1"}


@pytest.fixture(params=[brief, timed], ids=["plain", "with a time limit"])
def short(request: pytest.FixtureRequest) -> FunctionHandler:
    handler: FunctionHandler = request.param
    pace.forget()
    pace.write(handler.spec.key, 1000, 0.0005)
    return handler


@pytest.fixture
def ran(tmp_path: Path) -> Path:
    return tmp_path / "ran"


def _lines(path: Path) -> list[str]:
    return path.read_text(encoding="utf-8").splitlines() if path.exists() else []


def _completed(ids: list[UUID]) -> bool:
    return Job.objects.filter(id__in=ids, state=State.COMPLETED).count() == len(ids)


def _facts(ids: list[UUID], *columns: str) -> set[Any]:
    return set(Job.objects.filter(id__in=ids).values_list(*columns))


def _backlog(handler: FunctionHandler, path: Path, count: int) -> list[UUID]:
    results = handler.enqueue_many([{"path": str(path)} for _ in range(count)])
    return [result.id for result in results if result.id is not None]


def test_a_line_is_one_slot_and_the_reserved_one_stays_free(
    start_worker: Callable[..., Worker], short: FunctionHandler, ran: Path
) -> None:
    ids = _backlog(short, ran, MANY)
    worker = start_worker("-c", "2", "-Q", "brief", **SETTINGS)
    until(lambda: len(_lines(ran)) > MANY // 3)
    urgent = short.using(priority=Priority.USER_ACTION).enqueue(path=str(ran.with_name("urgent")))
    assert ended(urgent.id).state == State.COMPLETED
    until(lambda: _completed(ids))
    turns = [line.split()[0] for line in _lines(ran)]
    assert turns == ["start", "end"] * MANY, "two of one slot ran at once, or one ran twice"
    assert _facts(ids, "lease", "attempt", "slot") == {(1, 1, None)}
    worker.kill()


def test_a_process_that_dies_in_a_line_takes_only_its_own_job_along(
    start_worker: Callable[..., Worker], short: FunctionHandler, ran: Path
) -> None:
    before = _backlog(short, ran, 20)
    fatal = short.enqueue(path=str(ran), dies=True)
    behind = _backlog(short, ran, 20)
    worker = start_worker("-c", "2", "-Q", "brief", **SETTINGS)
    until(lambda: _completed([*before, *behind]))
    assert _facts([*before, *behind], "attempt", "crashes", "losses", "solo") == {(1, 0, 0, False)}
    job = ended(fatal.id)
    assert (job.state, job.lease, job.attempts.filter(outcome="lose").count()) == (State.COMPLETED, 2, 1)
    assert sum(line.startswith("start") for line in _lines(ran)) == 42
    worker.kill()
