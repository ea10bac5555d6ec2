"""Statements that run all the time: PostgreSQL parses and plans them once a connection, where that is safe.

A pooler may give each transaction another server session, which does not know what was prepared in the last one;
that is why Django prepares nothing. So it is done only on a connection that reaches the server itself: there the
process that answers is the one which the handshake named. A pooler has to name one of its own, because it is the
one to whom a request to cancel is sent.

A plan that is kept was made for the table as it was: read whole while it was empty, it would be read whole with a
million rows. So plans are made anew about once a second; the text stays parsed.
"""

from __future__ import annotations

import time
from typing import Any
from weakref import WeakKeyDictionary

import psycopg
from django.db.backends.base.base import BaseDatabaseWrapper
from django.db.backends.utils import CursorWrapper
from psycopg.pq import TransactionStatus

REPLAN_SECONDS = 1.0

_direct: WeakKeyDictionary[psycopg.Connection[Any], bool] = WeakKeyDictionary()
_planned_at: WeakKeyDictionary[psycopg.Connection[Any], float] = WeakKeyDictionary()


def prepared_cursor(connection: BaseDatabaseWrapper) -> CursorWrapper:
    """A cursor whose statements stay prepared; an ordinary one where they must not, and on other databases.

    Use it for a few statements of fixed text: each takes memory of the server as long as the connection lives.
    """
    connection.close_if_health_check_failed()
    connection.ensure_connection()
    raw = connection.connection
    # Django's log of statements wants them with their values, which only an ordinary cursor fills in.
    if not isinstance(raw, psycopg.Connection) or connection.queries_logged:
        return connection.cursor()
    with connection.wrap_database_errors:
        if not is_direct(raw):
            return connection.cursor()
        _plan_anew(raw)
        return connection._prepare_cursor(_PreparedCursor(raw))


def is_direct(raw: psycopg.Connection[Any]) -> bool:
    """Does this connection reach the server itself? Asks it once."""
    known = _direct.get(raw)
    if known is None:
        row = psycopg.Cursor(raw).execute("SELECT pg_backend_pid()").fetchone()
        known = _direct[raw] = row is not None and row[0] == raw.info.backend_pid
    return known


def _plan_anew(raw: psycopg.Connection[Any]) -> None:
    at = time.monotonic()
    if at - _planned_at.setdefault(raw, at) >= REPLAN_SECONDS:
        _planned_at[raw] = at
        psycopg.Cursor(raw).execute("DISCARD PLANS")


class _PreparedCursor(psycopg.Cursor[Any]):
    def execute(self, query: Any, params: Any = None, **options: Any) -> Any:
        raw = self.connection
        # Not for the connection as a whole: it would keep the text of every statement that anybody sends.
        before, raw.prepare_threshold = raw.prepare_threshold, 0
        try:
            return super().execute(query, params, **{**options, "prepare": True})
        except psycopg.errors.InvalidSqlStatementName:
            _direct[raw] = False  # somebody has thrown away what was prepared, and may do so again
            if raw.info.transaction_status != TransactionStatus.IDLE:
                raise  # the error has broken the transaction
            return super().execute(query, params, **{**options, "prepare": False})
        finally:
            raw.prepare_threshold = before
