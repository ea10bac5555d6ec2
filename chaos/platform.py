"""The platform under fire: its servers, its workers and its web process, all of this run alone."""

from __future__ import annotations

import os
import shutil
import signal
import sys
import tempfile
from collections.abc import Mapping
from contextlib import ExitStack
from pathlib import Path
from types import TracebackType
from typing import Self
from urllib.parse import urlsplit

import django

from chaos import ledger
from chaos.errors import CannotRun
from chaos.proxy import Proxy
from chaos.scale import Scale
from tests.services import PostgresServer, RedisServer, start_postgres, start_redis
from tests.services.guard import Guard
from tests.services.postgres import DATABASE

_KEPT = ("PATH", "HOME", "LANG", "LC_ALL", "TMPDIR")
APP = "chaos.app"


class Servers:
    """PostgreSQL, Redis, a proxy before each, a folder; this process's Django works on them afterwards.

    They are gone with the ``with``, and with this process however it ends. Raises ServerError, CannotRun.
    """

    def __init__(self, scale: Scale) -> None:
        self.scale = scale
        self._held = ExitStack()

    def __enter__(self) -> Self:
        if not sys.platform.startswith("linux"):
            raise CannotRun(
                "chaos stops and kills processes as Linux does it; run it on Linux or in a container"
            )
        try:
            self._start()
        except BaseException:
            self._held.close()
            raise
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._held.close()

    def _start(self) -> None:
        # A short name: a socket goes into it.
        self.folder = Path(tempfile.mkdtemp(prefix="jp-chaos-"))
        guard = Guard(None, self.folder)
        self._held.callback(guard.release)
        self._held.callback(shutil.rmtree, self.folder, ignore_errors=True)
        self.postgres: PostgresServer = self._held.enter_context(start_postgres())
        self.redis: RedisServer = self._held.enter_context(start_redis())
        sockets = self.folder / "pg"
        sockets.mkdir()
        name = ".s.PGSQL.5432"
        self.to_postgres = self._held.enter_context(Proxy(sockets / name, self.postgres.folder / name))
        address = urlsplit(self.redis.url)
        self.to_redis = self._held.enter_context(Proxy(None, ("127.0.0.1", address.port or 6379)))
        self.ledger_path = self.folder / "ledger"
        self.ledger = ledger.Ledger(self.ledger_path)
        os.environ.clear()
        # What this process would log is told by the table.
        os.environ.update({**self.environment(), "LOGS__LEVEL": "CRITICAL"})
        django.setup()

    def keep(self) -> Path:
        """Copy the logs and the ledger to a folder that stays, for whoever wants to know what went wrong."""
        kept = Path(tempfile.mkdtemp(prefix="jp-chaos-kept-"))
        for path in [*self.folder.glob("*.log"), self.ledger_path]:
            if path.exists():
                shutil.copy(path, kept)
        return kept

    def environment(self, *, proxied: bool = False) -> dict[str, str]:
        """What a process of the platform gets, and nothing of ours beside. ``proxied``: through the proxies."""
        kept = {name: _FIRST[name] for name in _KEPT if name in _FIRST}
        database, redis = self.postgres.url, self.redis.url
        if proxied:
            address = urlsplit(redis)
            database = f"postgresql://postgres@/{DATABASE}?host={self.folder / 'pg'}"
            redis = redis.replace(f":{address.port}/", f":{self.to_redis.port}/")
        return {
            **kept,
            **self.scale.settings,
            "PYTHONTZPATH": "",
            "DJANGO_SETTINGS_MODULE": "jobsplatform.settings",
            "DATA_DIR": str(self.folder),
            "DATABASE_URL": database,
            "REDIS_URL": redis,
            "APPS": APP,
            "LOGS__FORMAT": "json",
            "TASKS__RESERVED_HIGH_PRIORITY_SLOTS": "0",
            "SCHEDULER__MAINTENANCE": "false",
            ledger.FILE: str(self.ledger_path),
        }


def set_up_alone() -> None:
    """Let this process know the faults and the platform's models; it works on no database."""
    kept = {name: os.environ[name] for name in _KEPT if name in os.environ}
    os.environ.clear()
    os.environ.update(
        {
            **kept,
            "PYTHONTZPATH": "",
            "DJANGO_SETTINGS_MODULE": "jobsplatform.settings",
            "DATABASE_URL": "sqlite:///:memory:",
            "DATA_DIR": tempfile.gettempdir(),
            "APPS": APP,
            "LOGS__LEVEL": "CRITICAL",
        }
    )
    django.setup()


_FIRST: Mapping[str, str] = dict(os.environ)


def end_in_good_order(*numbers: int) -> None:
    """Leave by way of every ``with`` that is open when one of these signals comes."""

    def end(number: int, _: object) -> None:
        raise SystemExit(128 + number)

    for number in numbers or (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
        signal.signal(number, end)
