"""The archive of decisions: everything that retention removes was written before, and is written once."""

from __future__ import annotations

import gzip
import json
from collections.abc import Iterator
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest

from jobsplatform.kernel import clock, config
from jobsplatform.testing.platform import HandPlatform
from scheduler import archive_slots as module
from scheduler.models import ScheduleTriggerLog
from scheduler.prune import prune
from tasks.builtin.maintenance import archive_file
from tasks.handlers import job
from tasks.states import State
from tests.database.scheduler.tools import at, create, turn


@pytest.fixture
def folder(tmp_path: Path) -> Iterator[Path]:
    with config.override(data_dir=tmp_path):
        yield tmp_path / "archive"


@pytest.fixture(autouse=True)
def work(jobs: HandPlatform) -> None:
    @job("tests.work")
    def work(n: int = 0) -> None: ...


def run(jobs: HandPlatform, **params: Any) -> int:
    made = jobs.perform(module.archive_slots, params)
    assert made.state == State.COMPLETED, made.error
    return int(made.result["archived"])


def written(folder: Path) -> list[dict[str, Any]]:
    rows = []
    for file in sorted(folder.glob("slots-*.jsonl.gz")):
        rows += [json.loads(line) for line in gzip.decompress(file.read_bytes()).decode().splitlines()]
    return rows


def test_every_decision_is_written_once(
    jobs: HandPlatform, folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(module, "ROWS_A_FILE", 3)
    create(cron="0 * * * *")
    turn(jobs, at(20))
    assert run(jobs) == 7  # the last one waits until it is surely in its order
    jobs.advance(601)
    assert run(jobs) == 1
    assert run(jobs) == 0
    rows = written(folder)
    assert [row["id"] for row in rows] == [
        str(row.id) for row in ScheduleTriggerLog.objects.order_by("triggered_at", "id")
    ]
    assert len(list(folder.iterdir())) == 4
    assert {"schedule_id", "planned_at", "status", "reason", "task_id", "decided_by"} <= rows[0].keys()
    assert {file.stat().st_mode & 0o777 for file in folder.iterdir()} == {0o600}


def test_it_removes_nothing_and_goes_on_after_retention_has(jobs: HandPlatform, folder: Path) -> None:
    create("long", cron="0 * * * *", misfire="skip")
    create("short", cron="0 * * * *", misfire="skip", log_days=2)
    turn(jobs, at(15))
    jobs.advance(600)
    assert run(jobs) == 6 == ScheduleTriggerLog.objects.count()
    jobs.advance(3 * 86_400)
    assert prune(clock.now()) == 3
    turn(jobs, clock.now() + timedelta(hours=1))
    jobs.advance(600)
    before = ScheduleTriggerLog.objects.filter(triggered_at__gt=at(16)).count()
    assert run(jobs) == before > 0
    assert len({row["id"] for row in written(folder)}) == 6 + before


def test_an_archive_that_cannot_be_written_is_written_next_time(
    jobs: HandPlatform, folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    create(cron="0 * * * *")
    turn(jobs, at(14))
    jobs.advance(29 * 86_400)

    def full(_: Path) -> None:
        raise OSError(28, "No space left on device")

    with monkeypatch.context() as broken:
        broken.setattr("os.fsync", lambda _: full(folder))
        failed = jobs.submit(module.archive_slots, max_attempts=1)
        jobs.drain()
        assert jobs.state(failed) is State.FAILED
    assert written(folder) == []
    assert run(jobs) == 2
    assert not list(folder.glob("*.part"))


def test_a_strange_file_in_the_folder_is_no_position(jobs: HandPlatform, folder: Path) -> None:
    create(cron="0 * * * *")
    turn(jobs, at(13))
    jobs.advance(29 * 86_400)
    with config.override(data_dir=folder.parent):
        archive_file.folder()
    (folder / "slots-99999999T999999999999Z-none.jsonl.gz").write_bytes(b"")
    (folder / "audit-20260101-1-2.jsonl.gz").write_bytes(b"")
    assert run(jobs) == 1
