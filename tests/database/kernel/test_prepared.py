"""Prepared statements: only where the server itself answers, and nobody is worse off when they get lost."""

from __future__ import annotations

from typing import Any

import psycopg
import pytest
from django.db import DatabaseError, connection, transaction
from django.test.utils import CaptureQueriesContext

from jobsplatform.kernel import prepared
from jobsplatform.kernel.prepared import is_direct, prepared_cursor

STATEMENT = "SELECT %s::int + 1"


@pytest.fixture(autouse=True)
def fresh_connection(transactional_db: None) -> None:
    connection.close()


def ask(number: int) -> Any:
    with prepared_cursor(connection) as cursor:
        cursor.execute(STATEMENT, [number])
        return cursor.fetchone()[0]


def kept() -> int:
    with connection.cursor() as cursor:
        cursor.execute("SELECT count(*) FROM pg_prepared_statements")
        return int(cursor.fetchone()[0])


def throw_away() -> None:
    with connection.cursor() as cursor:
        cursor.execute("DEALLOCATE ALL")


@pytest.mark.postgres
def test_a_statement_is_prepared_once_a_connection() -> None:
    assert [ask(n) for n in range(3)] == [1, 2, 3]
    assert kept() == 1


@pytest.mark.postgres
def test_other_statements_of_the_connection_are_not_prepared() -> None:
    ask(1)
    for _ in range(10):
        assert kept() == 1


@pytest.mark.postgres
def test_nothing_is_prepared_through_a_pooler(monkeypatch: pytest.MonkeyPatch) -> None:
    # A pooler names a process of its own at the handshake.
    monkeypatch.setattr(psycopg.ConnectionInfo, "backend_pid", property(lambda self: 4_000_000_000))
    assert ask(1) == 2
    assert not is_direct(connection.connection)
    assert kept() == 0


@pytest.mark.postgres
def test_what_somebody_threw_away_is_not_prepared_again() -> None:
    ask(1)
    throw_away()
    assert ask(2) == 3
    assert kept() == 0


@pytest.mark.postgres
def test_inside_a_transaction_it_costs_one_error() -> None:
    ask(1)
    throw_away()
    with pytest.raises(DatabaseError), transaction.atomic():
        ask(1)
    with transaction.atomic():
        assert ask(2) == 3
    assert kept() == 0


def test_it_runs_in_the_callers_transaction_and_is_seen_by_who_counts_statements() -> None:
    with (
        CaptureQueriesContext(connection) as seen,
        transaction.atomic(),
        prepared_cursor(connection) as cursor,
    ):
        cursor.execute("SELECT 1 + 1")
        assert cursor.fetchone()[0] == 2
    assert [query["sql"] for query in seen.captured_queries].count("SELECT 1 + 1") == 1


def test_another_database_gets_an_ordinary_cursor(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(prepared, "is_direct", lambda raw: False)
    with prepared_cursor(connection) as cursor:
        cursor.execute("SELECT 2")
        assert cursor.fetchone()[0] == 2


@pytest.mark.postgres
def test_a_plan_made_for_a_small_table_is_not_kept_for_a_large_one(monkeypatch: pytest.MonkeyPatch) -> None:
    at = [1000.0]
    monkeypatch.setattr(prepared.time, "monotonic", lambda: at[0])
    with connection.cursor() as cursor:
        cursor.execute("CREATE TEMPORARY TABLE grown (id int PRIMARY KEY, word text NOT NULL)")
        cursor.execute("INSERT INTO grown SELECT 1, 'x'")
        cursor.execute("VACUUM ANALYZE grown")

    def find() -> None:
        with prepared_cursor(connection) as cursor:
            cursor.execute("SELECT word FROM grown WHERE id = %s", [1])

    def whole_reads() -> int:
        with connection.cursor() as cursor:
            cursor.execute("SELECT pg_stat_force_next_flush()")
            cursor.execute("SELECT seq_scan FROM pg_stat_user_tables WHERE relname = 'grown'")
            return int(cursor.fetchone()[0])

    for _ in range(10):
        find()
    small = whole_reads()
    assert small >= 10, "a table of one row is read whole"
    with connection.cursor() as cursor:
        cursor.execute("INSERT INTO grown SELECT n, 'x' FROM generate_series(2, 50000) n")
    at[0] += prepared.REPLAN_SECONDS
    before = whole_reads()
    for _ in range(10):
        find()
    assert whole_reads() == before
