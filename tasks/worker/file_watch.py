"""On SQLite without Redis, the file itself tells when another process has written to it."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

from django.db import connection

from jobsplatform.kernel import config
from jobsplatform.kernel.loop import Loop

LOOK_SECONDS = 0.2


def watched_file() -> Path | None:
    """The database file to watch; None where hints come by other ways, or there is no file."""
    if config.get().redis_url or connection.vendor != "sqlite":
        return None
    path = Path(str(connection.settings_dict["NAME"]))
    return path if path.is_file() else None


class FileWatch(Loop):
    """Calls back when some other connection has committed: a job made by a command in another terminal starts
    at once instead of at the next poll. Reading SQLite's counter of commits costs microseconds."""

    name = "file watch"

    def __init__(self, path: Path, callback: Callable[[], None]) -> None:
        super().__init__()
        self._path = path
        self._callback = callback
        self._file: Any = None
        self._version: int | None = None

    def wait_seconds(self) -> float:
        return LOOK_SECONDS

    def step(self) -> bool:
        if self._file is None:
            # The counter compares only with itself: it needs one connection that stays.
            connect = connection.Database.connect  # a worker on PostgreSQL does not load that
            self._file = connect(f"{self._path.as_uri()}?mode=ro", uri=True, check_same_thread=False)
        version = int(self._file.execute("PRAGMA data_version").fetchone()[0])
        if self._version is not None and version != self._version:
            self._callback()
        self._version = version
        return False

    def stop(self, timeout: float | None = 10.0) -> bool:
        ended = super().stop(timeout)
        if ended and self._file is not None:
            self._file.close()
            self._file = None
        return ended
