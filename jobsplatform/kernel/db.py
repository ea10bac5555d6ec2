"""What the platform needs of the database beyond the ORM; differences between databases are told here."""

from __future__ import annotations

import functools
import random
import threading
import time
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from typing import ParamSpec, TypeVar

import psycopg
from django.db import (
    DEFAULT_DB_ALIAS,
    DatabaseError,
    InterfaceError,
    OperationalError,
    connections,
    models,
    transaction,
)
from django.db.backends.base.base import BaseDatabaseWrapper

from jobsplatform.kernel.prepared import prepared_cursor

P = ParamSpec("P")
R = TypeVar("R")
Row = TypeVar("Row", bound=models.Model)

FRESH_SECONDS = 1.0
_LOOKED_AT = "_jobsplatform_looked_at"

LOCKED = "55P03"
_LOCK_WAIT = "_jobsplatform_lock_wait"

DEADLOCK = "40P01"
DEADLOCK_ATTEMPTS = 6


@contextmanager
def pipelined(alias: str = DEFAULT_DB_ALIAS) -> Iterator[None]:
    """Within it, and within a transaction, a statement is sent without waiting for its answer, where the database can;
    fetching an answer waits for it, and raises what went wrong."""
    connection = connections[alias]
    if not (is_postgres(alias) and psycopg.Pipeline.is_supported()):
        yield
        return
    with connection.wrap_database_errors, connection.connection.pipeline():
        yield


@functools.cache
def is_postgres(alias: str = DEFAULT_DB_ALIAS) -> bool:
    """Is this database PostgreSQL (else SQLite)?"""
    return connections[alias].vendor == "postgresql"


def in_transaction(alias: str = DEFAULT_DB_ALIAS) -> bool:
    """Has this thread an open transaction? One that a test case wraps around a test does not count."""
    return holds_transaction(connections[alias])


def holds_transaction(connection: BaseDatabaseWrapper) -> bool:
    """``in_transaction`` for a connection that may be another thread's."""
    if not connection.in_atomic_block:
        return False
    blocks = getattr(connection, "atomic_blocks", ())
    return not all(getattr(b, "_from_testcase", False) for b in blocks)


def after_commit(fn: Callable[[], object], alias: str = DEFAULT_DB_ALIAS) -> None:
    """Call ``fn`` once the current transaction has committed, at once when there is none, never after a
    rollback. What it raises is logged by Django and breaks nobody."""

    # A function of its own: Django's log line wants a name, which a partial or an object does not have.
    def committed() -> None:
        fn()

    committed.__qualname__ = getattr(fn, "__qualname__", repr(fn))
    transaction.on_commit(committed, using=alias, robust=True)


def lock_rows(model: type[Row], names: Iterable[str], alias: str = DEFAULT_DB_ALIAS) -> list[Row]:
    """Hold the rows of ``model`` with these primary keys until the transaction ends; missing rows are made.

    Always in the order of their names, so that two callers never hold what the other waits for. Call it
    inside ``atomic``. On SQLite the transaction itself (IMMEDIATE) already keeps everybody else out.
    """
    wanted = sorted(set(names))
    if not wanted:
        return []
    rows = model._default_manager.using(alias)

    def locked() -> list[Row]:
        if not is_postgres(alias):
            return list(rows.select_for_update().filter(pk__in=wanted).order_by("pk"))
        return _locked(model, wanted, alias)

    found = locked()
    if len(found) < len(wanted):
        have = {row.pk for row in found}
        rows.bulk_create([model(pk=name) for name in wanted if name not in have], ignore_conflicts=True)
        found = locked()
    return found


def _locked(model: type[Row], names: list[str], alias: str) -> list[Row]:
    # As the ORM would; every dispatch round comes here, and building the query costs more than running it.
    fields = [f.attname for f in model._meta.concrete_fields]
    columns = ", ".join(f'"{f.column}"' for f in model._meta.concrete_fields)
    key = model._meta.pk.column
    marks = ", ".join(["%s"] * len(names))
    sql = f'SELECT {columns} FROM "{model._meta.db_table}" WHERE "{key}" IN ({marks}) ORDER BY "{key}" FOR UPDATE'
    with prepared_cursor(connections[alias]) as cursor:
        cursor.execute(sql, names)
        return [model.from_db(alias, fields, row) for row in cursor.fetchall()]


def limit_lock_waits(milliseconds: int, *, of_file: int | None = None, alias: str = DEFAULT_DB_ALIAS) -> None:
    """From now on this thread's connection waits no longer than this for a row or table that somebody else holds, be it
    a session whose process has silently vanished; then it raises what ``is_locked`` knows. ``of_file``: the same for
    the file of SQLite; None leaves that as it is. Asked again for the same connection it does nothing."""
    connection = connections[alias]
    connection.ensure_connection()
    if getattr(connection, _LOCK_WAIT, None) is connection.connection:
        return
    if is_postgres(alias):
        statement = f"SET lock_timeout = '{milliseconds}ms'"
    elif of_file is not None:
        statement = f"PRAGMA busy_timeout = {of_file}"
    else:
        return
    with connection.cursor() as cursor:
        cursor.execute(statement)
    setattr(connection, _LOCK_WAIT, connection.connection)


def is_locked(error: BaseException) -> bool:
    """Is a row or file locked by others for the moment (and the database well)?"""
    return getattr(error.__cause__, "sqlstate", None) == LOCKED or "database is locked" in str(error)


def is_deadlock(error: BaseException) -> bool:
    """Did PostgreSQL end this transaction to break a deadlock?"""
    return isinstance(error, OperationalError) and getattr(error.__cause__, "sqlstate", None) == DEADLOCK


def retry_deadlocks(fn: Callable[P, R]) -> Callable[P, R]:
    """Run ``fn`` again when it was the victim of a deadlock, unless a caller's transaction is open: that one
    is lost as a whole, and only its owner can run it again."""

    @functools.wraps(fn)
    def wrapper(*args: P.args, **kwargs: P.kwargs) -> R:
        for attempt in range(1, DEADLOCK_ATTEMPTS + 1):
            outside = not in_transaction()
            try:
                return fn(*args, **kwargs)
            except OperationalError as error:
                if not outside or attempt == DEADLOCK_ATTEMPTS or not is_deadlock(error):
                    raise
            # Both victims would meet again if they waited equally long.
            threading.Event().wait(random.uniform(0, 0.01 * 2**attempt))
        raise AssertionError("unreachable")

    return wrapper


@contextmanager
def closing_broken_connection(alias: str = DEFAULT_DB_ALIAS) -> Iterator[None]:
    """Drop the connection when the block fails because of it, so that the next use opens a new one.

    The error goes on. Inside an open transaction nothing is dropped: its owner must see it fail first.
    """
    try:
        yield
    except (InterfaceError, OperationalError):
        connection = connections[alias]
        if not connection.in_atomic_block:
            connection.close()
        raise


def opened_here() -> list[BaseDatabaseWrapper]:
    """The connections that this thread has, open or not; the default one comes first."""
    default = connections[DEFAULT_DB_ALIAS]
    if len(connections.settings) == 1:  # nearly always; asking Django for all costs thrice as much
        return [default]
    return [default, *(c for c in connections.all(initialized_only=True) if c is not default)]


def is_sound(connection: BaseDatabaseWrapper) -> bool:
    """Has nothing gone wrong on this connection, and is no transaction open? Sends nothing to the database."""
    return not (
        connection.in_atomic_block
        or connection.errors_occurred
        or connection.autocommit != connection.settings_dict["AUTOCOMMIT"]
    )


def close_stale() -> None:
    """``close_old_connections`` for those who come many times a second.

    A connection that has just been looked at, and on which nothing has gone wrong since, is not looked at again for
    ``FRESH_SECONDS``: that would send it a query each time.
    """
    at = time.monotonic()
    for connection in opened_here():
        looked_at = getattr(connection, _LOOKED_AT, None)
        if looked_at is None or at - looked_at >= FRESH_SECONDS or not is_sound(connection):
            connection.close_if_unusable_or_obsolete()
            setattr(connection, _LOOKED_AT, at)


def close_broken(alias: str = DEFAULT_DB_ALIAS) -> None:
    """Leave no half-done or broken transaction to whoever uses this thread's connection next.

    A transaction that was left open is rolled back (never a test case's own), and a connection that no longer
    works is closed.
    """
    connection = connections[alias]
    if connection.connection is None:
        return
    if not connection.in_atomic_block:
        connection.close_if_unusable_or_obsolete()
        return
    if any(getattr(block, "_from_testcase", False) for block in connection.atomic_blocks):
        return
    # Django would keep a connection that is closed inside a block for that block's end, which never comes.
    connection.in_atomic_block = False
    try:
        connection.rollback()
    except DatabaseError:
        connection.errors_occurred = True
    connection.close()


def close_connections() -> None:
    """Close all of this thread's connections; for threads that end and forks that begin."""
    connections.close_all()


def first_line(error: BaseException) -> str:
    """What the database said, cut to its first line, for one-line messages."""
    text = str(error).strip()
    return text.splitlines()[0] if text else type(error).__name__
