"""The database of a history that is told alone: a new one, gone with this process."""

from __future__ import annotations

import os
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import django
from django.core.management import call_command
from django.db import connections

from tests.services import start_postgres
from tests.services.guard import Guard

_KEPT = ("PATH", "HOME", "LANG", "LC_ALL", "TMPDIR")


@contextmanager
def database(*, postgres: bool) -> Iterator[None]:
    """Set Django up, once in a process, on an empty database with all tables. Raises ServerError."""
    with tempfile.TemporaryDirectory(prefix="jp-simulate-") as name:
        folder = Path(name)
        if not postgres:
            yield from _set_up(folder, f"sqlite:///{folder / 'simulation.sqlite3'}")
            return
        guard = Guard(None, folder)
        try:
            with start_postgres() as server:
                yield from _set_up(folder, server.url)
        finally:
            guard.release()


def _set_up(folder: Path, url: str) -> Iterator[None]:
    kept = {name: os.environ[name] for name in _KEPT if name in os.environ}
    os.environ.clear()
    os.environ.update(
        {
            **kept,
            "PYTHONTZPATH": "",
            "DJANGO_SETTINGS_MODULE": "jobsplatform.settings",
            "DATABASE_URL": url,
            "DATA_DIR": str(folder),
            "LOGS__LEVEL": "CRITICAL",
        }
    )
    django.setup()
    call_command("migrate", verbosity=0, interactive=False)
    try:
        yield
    finally:
        connections.close_all()
