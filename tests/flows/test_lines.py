"""Short jobs that are sent ahead take turns in one slot of a real worker."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from tasks import pace
from tasks.models import Job
from tasks.states import Priority, State
from tests.flows.flowapp.jobs import brief
from tests.flows.processes import Worker, ended, until

pytestmark = pytest.mark.flow

MANY = 150


@pytest.fixture(autouse=True)
def known_to_be_short() -> None:
    pace.forget()
    pace.write(brief.spec.key, 1000, 0.0005)


def _lines(path: Path) -> list[str]:
    return path.read_text(encoding="utf-8").splitlines() if path.exists() else []


def _completed(ids: list[object]) -> bool:
    return Job.objects.filter(id__in=ids, state=State.COMPLETED).count() == len(ids)


def _backlog(path: Path, count: int = MANY) -> list[object]:
    return [result.id for result in brief.enqueue_many([{"path": str(path)} for _ in range(count)])]


def test_a_line_is_one_slot_and_the_reserved_one_stays_free(
    start_worker: Callable[..., Worker], tmp_path: Path
) -> None:
    ran = tmp_path / "ran"
    ids = _backlog(ran)
    worker = start_worker("-c", "2", "-Q", "brief", TASKS__RESERVED_HIGH_PRIORITY_SLOTS="1")
    until(lambda: len(_lines(ran)) > MANY // 3)
    urgent = brief.using(priority=Priority.USER_ACTION).enqueue(path=str(tmp_path / "urgent"))
    assert ended(urgent.id).state == State.COMPLETED
    until(lambda: _completed(ids))
    turns = [line.split()[0] for line in _lines(ran)]
    assert turns == ["start", "end"] * MANY, "two of one slot ran at once, or one ran twice"
    assert set(Job.objects.filter(id__in=ids).values_list("lease", "attempt", "slot")) == {(1, 1, None)}
    worker.kill()


def test_a_process_that_dies_in_a_line_takes_only_its_own_job_along(
    start_worker: Callable[..., Worker], tmp_path: Path
) -> None:
    ran = tmp_path / "ran"
    before = _backlog(ran, 20)
    fatal = brief.enqueue(path=str(ran), dies=True)
    behind = _backlog(ran, 20)
    worker = start_worker("-c", "2", "-Q", "brief", TASKS__RESERVED_HIGH_PRIORITY_SLOTS="1")
    until(lambda: _completed([*before, *behind]))
    assert set(Job.objects.filter(id__in=[*before, *behind]).values_list("lease", "crashes", "losses")) == {
        (1, 0, 0)
    }
    job = ended(fatal.id)
    assert (job.state, job.lease) == (State.COMPLETED, 2)
    assert sum(line.startswith("start") for line in _lines(ran)) == 42
    worker.kill()
