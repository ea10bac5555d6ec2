"""maintenance.clear_temp removes old files of its folder, and nothing else on this machine."""

from __future__ import annotations

import os
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest

from jobsplatform.kernel import clock, config
from tasks.builtin.maintenance import clear_temp as module
from tasks.builtin.maintenance.clear_temp import clear_temp
from tasks.outcomes import Fail, JobCancelled
from tests.pure.builtin.fakes import FakePort, run
from tests.pure.builtin.trees import plant, plant_unreadable


@pytest.fixture
def folder(tmp_path: Path) -> Iterator[Path]:
    """A folder that may be cleared, a day and an hour from now."""
    place = tmp_path / "work"
    place.mkdir()
    later = datetime.now(UTC) + timedelta(hours=25)
    with config.override(tasks={"clear_temp_roots": [str(tmp_path)]}), clock.use(clock.FrozenClock(later)):
        yield place


def test_old_files_and_emptied_folders_go_the_folder_stays(folder: Path) -> None:
    plant(folder)
    outcome = run(clear_temp, folder=str(folder))
    left = sorted(str(path.relative_to(folder)) for path in folder.rglob("*"))
    assert left == ["bad", "bad/pipe", "bad/socket"]
    assert outcome.result["files"] == outcome.count == 19
    assert outcome.result["folders"] == 7 and outcome.result["kept"] == 2


def test_young_files_stay(folder: Path) -> None:
    plant(folder)
    before = sorted(folder.rglob("*"))
    outcome = run(clear_temp, folder=str(folder), older_than_hours=48)
    assert sorted(folder.rglob("*")) == before and outcome.count == 0


def test_an_old_mtime_alone_does_not_make_a_file_old(tmp_path: Path) -> None:
    place = tmp_path / "work"
    place.mkdir()
    (place / "unpacked").touch()
    os.utime(place / "unpacked", (0, 0))
    with config.override(tasks={"clear_temp_roots": [str(tmp_path)]}):
        assert run(clear_temp, folder=str(place)).count == 0


def test_a_dry_run_counts_and_removes_nothing(folder: Path) -> None:
    plant(folder)
    before = sorted(folder.rglob("*"))
    outcome = run(clear_temp, folder=str(folder), dry_run=True)
    assert sorted(folder.rglob("*")) == before
    assert outcome.count == 19 and outcome.result["folders"] == 0


def test_links_are_removed_and_what_they_lead_to_stays(folder: Path, tmp_path: Path) -> None:
    precious = tmp_path / "precious"
    precious.mkdir()
    (precious / "file").write_text("keep me")
    (folder / "link").symlink_to(precious)
    (folder / "file-link").symlink_to(precious / "file")
    assert run(clear_temp, folder=str(folder)).count == 2
    assert (precious / "file").read_text() == "keep me"


def test_a_folder_exchanged_for_a_link_is_not_entered(
    folder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    precious = tmp_path / "precious"
    precious.mkdir()
    (precious / "file").touch()
    (folder / "sub").mkdir()
    (folder / "sub" / "file").touch()
    real = module.walk

    def walk(*args: Any, **options: Any) -> Any:
        for found in real(*args, **options):
            if found.path == "sub":
                (folder / "sub").rename(tmp_path / "moved")
                (folder / "sub").symlink_to(precious)
            yield found

    monkeypatch.setattr(module, "walk", walk)
    outcome = run(clear_temp, folder=str(folder))
    assert (precious / "file").exists()
    assert outcome.result["failed"] == 1


def test_what_cannot_be_removed_is_counted(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (folder / "file").touch()

    def refuse(*_: Any, **__: Any) -> None:
        raise PermissionError(13, "Permission denied")

    monkeypatch.setattr(module.os, "unlink", refuse)
    result = run(clear_temp, folder=str(folder)).result
    assert result["failed_samples"] == [{"path": "file", "reason": "permission denied"}]


def test_a_cancel_stops_it_between_files(folder: Path) -> None:
    for number in range(10):
        (folder / str(number)).touch()
    with pytest.raises(JobCancelled):
        run(clear_temp, FakePort(stop_at=6), folder=str(folder))
    assert 0 < len(list(folder.iterdir())) < 10


@pytest.mark.parametrize(
    "folder",
    [
        "/",
        "/etc",
        "/usr/lib",
        "/home",
        "/var",
        "/tmp",
        "/var/tmp",
        "/root",
        "~",
        "~/..",
        ".",
        "code",
        "data",
        "code/tasks",
    ],
)
def test_dangerous_folders_are_refused_even_when_allowed(folder: str, tmp_path: Path) -> None:
    code = Path(module.__file__).resolve().parents[3]
    real = folder.replace("~", os.path.expanduser("~")).replace("code", str(code))
    real = real.replace("data", str(tmp_path / "data"))
    (tmp_path / "data").mkdir()
    real = os.getcwd() if real == "." else real
    if not os.path.isdir(real):
        pytest.skip(f"no {real} here")
    with (
        config.override(data_dir=tmp_path / "data", tasks={"clear_temp_roots": ["/"]}),
        pytest.raises(Fail, match="not cleared") as failure,
    ):
        run(clear_temp, folder=real, dry_run=True)
    assert failure.value.retryable is False


def test_only_named_roots_are_cleared_and_never_themselves(folder: Path, tmp_path: Path) -> None:
    (tmp_path / "outside").symlink_to("/usr")
    for place, why in (
        (str(tmp_path), "not inside of"),
        (f"{folder}/..", "not inside of"),
        (f"{tmp_path}/outside", "belongs to the system"),
        (str(folder / "missing"), "vanished"),
        ("relative", "absolute"),
        ("/nul\x00l", "absolute"),
    ):
        with pytest.raises(Fail, match=why):
            module.checked_folder(place)
    plant_unreadable(folder / "fine")
    assert module.checked_folder(str(folder / "fine")) == os.path.realpath(folder / "fine")
