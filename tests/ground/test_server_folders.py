"""Where a server's folder goes: short enough for a socket, open to the account that needs it."""

import os
import tempfile
from pathlib import Path

import pytest

from tests.services.accounts import Account
from tests.services.folders import SOCKET_PATH_LIMIT, make_folder


def socket_in(folder: Path) -> bytes:
    return os.fsencode(folder / ".s.PGSQL.5432")


def test_a_short_base_is_used() -> None:
    folder = make_folder(Account(), Path("/tmp"))
    assert folder.parent == Path("/tmp").resolve()
    assert folder.stat().st_mode & 0o777 == 0o700
    folder.rmdir()


def test_a_base_too_deep_for_a_socket_is_left_for_a_short_one(tmp_path: Path) -> None:
    deep = tmp_path / ("d" * SOCKET_PATH_LIMIT)
    deep.mkdir()
    folder = make_folder(Account(), deep)
    assert not folder.is_relative_to(tmp_path)
    assert len(socket_in(folder)) < SOCKET_PATH_LIMIT
    folder.rmdir()


def test_the_longest_base_still_taken_leaves_room_for_the_socket() -> None:
    with tempfile.TemporaryDirectory(dir="/tmp") as start:
        for length in range(1, SOCKET_PATH_LIMIT - len(start)):
            base = Path(start, "b" * length)
            base.mkdir()
            folder = make_folder(Account(), base)
            assert len(socket_in(folder)) < SOCKET_PATH_LIMIT
            folder.rmdir()


@pytest.mark.skipif(os.geteuid() != 0, reason="only root gives folders away")
def test_a_base_closed_to_the_account_is_left_for_an_open_one(tmp_path: Path) -> None:
    tmp_path.chmod(0o700)
    nobody = Account(uid=65534, gid=65534)
    folder = make_folder(nobody, tmp_path)
    assert not folder.is_relative_to(tmp_path)
    assert folder.stat().st_uid == 65534
    folder.rmdir()
