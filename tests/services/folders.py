"""Folders for a server's data and sockets."""

import os
import tempfile
from pathlib import Path

from tests.services.accounts import Account

# sun_path of sockaddr_un holds 104 bytes on macOS and 108 on Linux, the closing NUL included.
SOCKET_PATH_LIMIT = 104
_LONGEST_SOCKET_NAME = "/jp-xxxxxxxx/.s.PGSQL.5432.lock"
_SHORT_BASE = Path("/tmp")


def make_folder(account: Account, base: Path | None = None) -> Path:
    """A new private folder, short enough for a socket in it and reachable by `account`.

    `base` defaults to the temporary folder of this machine; `/tmp` is taken where that one is too deep for a
    socket or closed to the account.
    """
    wanted = Path(os.path.realpath(base or tempfile.gettempdir()))
    if not _fits(wanted) or not _reachable(wanted, account):
        wanted = _SHORT_BASE
    folder = Path(tempfile.mkdtemp(prefix="jp-", dir=wanted))
    account.give(folder)
    return folder


def _fits(base: Path) -> bool:
    return len(os.fsencode(base)) + len(_LONGEST_SOCKET_NAME) < SOCKET_PATH_LIMIT


def _reachable(folder: Path, account: Account) -> bool:
    """Whether the account may walk down to `folder`: every folder on the way is open to others."""
    if account.uid is None:
        return True
    return all(step.stat().st_mode & 0o001 for step in (folder, *folder.parents))
