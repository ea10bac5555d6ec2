"""Locks as rows, on PostgreSQL and SQLite alike. Time is the database's clock."""

from __future__ import annotations

import secrets
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import datetime, timedelta
from typing import Any

from django.db import DatabaseError, connections, transaction

from jobsplatform.kernel import clock, db
from jobsplatform.kernel.errors import LockUnavailable
from jobsplatform.kernel.locks.protocol import Lease
from jobsplatform.kernel.models import NamedLock

TAKE = """
INSERT INTO kernel_namedlock (name, owner, token, expires_at, fence)
VALUES (%(name)s, %(owner)s, %(token)s, %(until)s, %(fence)s)
ON CONFLICT (name) DO UPDATE
SET owner = excluded.owner, token = excluded.token, expires_at = excluded.expires_at,
    fence = CASE WHEN kernel_namedlock.fence >= excluded.fence
                 THEN kernel_namedlock.fence + 1 ELSE excluded.fence END
WHERE kernel_namedlock.expires_at <= %(now)s
RETURNING fence
"""
"""One statement takes a lock that is free or has run out. Fences follow the clock (microseconds), so that
they grow even when an old row was pruned in between."""


class DatabaseLocks:
    """Locks shared by all who share the database.

    Take them outside transactions (a RuntimeError says so): a lock that is not committed keeps rivals waiting
    instead of telling them.
    """

    def __init__(self, alias: str = "default") -> None:
        self._alias = alias

    def acquire(self, key: str, ttl: float, owner: str = "") -> Lease | None:
        token = secrets.token_hex(16)
        with self._reaching():
            now = clock.now()
            row = self._take(
                name=key,
                owner=owner[:255],
                token=token,
                until=now + timedelta(seconds=ttl),
                fence=int(now.timestamp() * 1_000_000),
                now=now,
            )
        return Lease(key, token, row[0]) if row else None

    def renew(self, lease: Lease, ttl: float) -> bool:
        with self._reaching():
            now = clock.now()
            mine = self._mine(lease).filter(expires_at__gt=now)
            return bool(mine.update(expires_at=now + timedelta(seconds=ttl)))

    def release(self, lease: Lease) -> bool:
        with self._reaching():
            now = clock.now()
            return bool(self._mine(lease).filter(expires_at__gt=now).update(expires_at=now, token=""))

    def prune(self, before: datetime) -> int:
        """Remove the rows of locks that ran out before ``before``; how many."""
        with self._reaching():
            return NamedLock.objects.using(self._alias).filter(expires_at__lt=before).delete()[0]

    def _mine(self, lease: Lease) -> Any:
        return NamedLock.objects.using(self._alias).filter(pk=lease.key, token=lease.token)

    def _take(self, **values: Any) -> Any:
        connection = connections[self._alias]
        for name in ("until", "now"):
            values[name] = connection.ops.adapt_datetimefield_value(values[name])
        with connection.cursor() as cursor:
            cursor.execute(TAKE, values)
            return cursor.fetchone()

    @contextmanager
    def _reaching(self) -> Iterator[None]:
        try:
            with db.closing_broken_connection(self._alias), transaction.atomic(self._alias, durable=True):
                yield
        except DatabaseError as error:
            raise LockUnavailable(
                f"The lock store does not answer ({db.first_line(error)}). Is the database running, and is "
                "DATABASE_URL right?",
                store="database",
            ) from error
