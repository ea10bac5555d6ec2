"""The servers of one run and the databases on them: the same for every system, and nothing left behind."""

from __future__ import annotations

import tempfile
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path
from types import TracebackType
from typing import Any, Self

import psycopg

from benchmarks.driver import Driver
from benchmarks.systems.base import Place, System
from tests.services import PostgresServer, RedisServer, start_postgres, start_redis
from tests.services.guard import Guard


class Stage:
    """PostgreSQL, Valkey and a folder; all are gone after the ``with``. Raises ServerError when one does not start."""

    def __init__(self) -> None:
        self._held = ExitStack()
        self._count = 0
        self._templates: set[str] = set()

    def __enter__(self) -> Self:
        try:
            self.postgres: PostgresServer = self._held.enter_context(start_postgres())
            self.redis: RedisServer = self._held.enter_context(start_redis())
            folder = self._held.enter_context(tempfile.TemporaryDirectory(prefix="jp-bench-"))
            # Removes it even when we are killed.
            self._held.callback(Guard(None, Path(folder)).release)
        except BaseException:
            self._held.close()
            raise
        self.folder = Path(folder)
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._held.close()

    @contextmanager
    def place(self, system: System) -> Iterator[Place]:
        """A folder, an empty broker and a fresh database with the system's tables; the database is dropped after."""
        client = self.redis.client()
        client.flushall()
        client.close()
        self._count += 1
        folder = self.folder / f"{self._count:03}-{system.name}"
        folder.mkdir()
        if not system.database:
            yield Place(folder, "", self.redis.url)
            return
        template = self._template(system)
        name = f"bench_{self._count}"
        self.sql("postgres", f'CREATE DATABASE "{name}" TEMPLATE "{template}"')
        try:
            yield Place(folder, self.postgres.url_of(name), self.redis.url)
        finally:
            self.sql("postgres", f'DROP DATABASE IF EXISTS "{name}" WITH (FORCE)')

    def _template(self, system: System) -> str:
        """A database with the system's tables; made once, by the system's own tools."""
        name = f"template_{system.schema}"
        if name not in self._templates:
            self.sql("postgres", f'DROP DATABASE IF EXISTS "{name}" WITH (FORCE)')
            self.sql("postgres", f'CREATE DATABASE "{name}"')
            place = Place(self.folder, self.postgres.url_of(name), self.redis.url)
            driver = Driver(
                system.name, system.client, system.environment(place), self.folder / f"{name}.log"
            )
            try:
                driver.do("prepare")
            finally:
                driver.stop()
            self._templates.add(name)
        return name

    def sql(self, database: str, statement: str) -> Any:
        """The first value that a statement returns; None when it returns none."""
        with psycopg.connect(self.postgres.url_of(database), autocommit=True) as connection:
            cursor = connection.execute(statement.encode())
            row = cursor.fetchone() if cursor.description else None
            return row[0] if row else None
