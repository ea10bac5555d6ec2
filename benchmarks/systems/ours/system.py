"""JobsPlatform: on PostgreSQL and Redis as in production, and its local profile on SQLite."""

from __future__ import annotations

import sys
from collections.abc import Mapping
from pathlib import Path

from benchmarks.processes import ROOT
from benchmarks.systems.base import SLOTS, Place, System, python


class Ours(System):
    """Profile ``private``, one worker with two pool processes. ``settings``: what differs from the defaults."""

    schema = "ours"
    client = "benchmarks.systems.ours.client"
    needs = ("celery", "django")
    done_sql = "SELECT count(*) FROM tasks_job WHERE state = 'completed'"

    def __init__(self, name: str = "ours", settings: Mapping[str, str] | None = None) -> None:
        self.name = name
        self._extra = dict(settings or {})
        changed = ", ".join(f"{key}={value}" for key, value in self._extra.items())
        self.settings = (
            f"profile private, defaults (logs, events and checks on){', ' + changed if changed else ''}; "
            f"worker prefork -c {SLOTS}"
        )

    def environment(self, place: Place) -> dict[str, str]:
        return {
            **super().environment(place),
            "PROFILE": "private",
            "SECRET_KEY": "only-for-a-measurement-on-this-machine-and-thrown-away",
            "DATA_DIR": str(place.folder),
            "APPS": "benchmarks.systems.ours",
            **self._extra,
        }

    def workers(self) -> list[list[str]]:
        return [python("celery", "-A", "jobsplatform", "--quiet", "worker", "-c", str(SLOTS))]


class Local(System):
    """The one-process profile: web, worker threads and SQLite in one process, as ``./dev up`` starts it."""

    name = "ours"
    schema = "local"
    client = "benchmarks.systems.ours.client"
    needs = ("celery", "django")
    settings = "profile local, defaults (logs, events and checks on): one process, SQLite, worker threads, web server"
    database = False

    def environment(self, place: Place) -> dict[str, str]:
        return {
            **super().environment(place),
            "REDIS_URL": "",
            "DATABASE_URL": f"sqlite:///{self.file(place)}",
            "PROFILE": "local",
            "DATA_DIR": str(place.folder),
            "APPS": "benchmarks.systems.ours",
        }

    def file(self, place: Place) -> Path:
        """The database."""
        return place.folder / "local.sqlite3"

    def workers(self) -> list[list[str]]:
        return [[sys.executable, str(ROOT / "manage.py"), "runplatform", "--port", "0"]]
