"""The local secret: made once, kept, and the same for all who start at once."""

import stat
import threading
from pathlib import Path

from jobsplatform.kernel import secret


def test_it_is_kept(tmp_path: Path) -> None:
    first = secret.kept_in(tmp_path / "data")
    assert len(first) >= 50
    assert secret.kept_in(tmp_path / "data") == first
    assert secret.kept_in(tmp_path / "other") != first


def test_only_its_owner_may_read_it(tmp_path: Path) -> None:
    secret.kept_in(tmp_path)
    assert stat.S_IMODE((tmp_path / secret.FILE_NAME).stat().st_mode) == 0o600


def test_a_cut_off_file_is_replaced(tmp_path: Path) -> None:
    (tmp_path / secret.FILE_NAME).write_text("short")
    made = secret.kept_in(tmp_path)
    assert len(made) >= 50
    assert secret.kept_in(tmp_path) == made


def test_processes_that_start_at_once_agree_and_leave_nothing_behind(tmp_path: Path) -> None:
    start, found = threading.Barrier(8), []

    def ask() -> None:
        start.wait()
        found.append(secret.kept_in(tmp_path))

    threads = [threading.Thread(target=ask) for _ in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(found) == 8
    assert len(set(found)) == 1
    assert [path.name for path in tmp_path.iterdir()] == [secret.FILE_NAME]
