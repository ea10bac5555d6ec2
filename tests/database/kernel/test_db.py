"""Transactions, lock rows, deadlocks and broken connections, on both databases."""

import threading
from collections.abc import Callable
from functools import partial
from typing import Any

import pytest
from django.db import DatabaseError, OperationalError, connection, connections, models, transaction
from django.db.models.functions import Concat

from jobsplatform.kernel import db
from jobsplatform.kernel.loop import wait_until
from jobsplatform.kernel.models import Tenant

whole = pytest.mark.django_db(transaction=True)


def in_thread(work: Callable[[], Any]) -> threading.Thread:
    """Run ``work`` on a connection of its own."""

    def run() -> None:
        try:
            work()
        finally:
            connections.close_all()

    thread = threading.Thread(target=run, daemon=True)
    thread.start()
    return thread


def tenant_names() -> list[str]:
    return [str(row.pk) for row in Tenant.objects.order_by("pk")]


@pytest.mark.django_db
def test_a_test_cases_own_transaction_does_not_count() -> None:
    assert not db.in_transaction()
    with transaction.atomic():
        assert db.in_transaction()
    assert not db.in_transaction()


@whole
def test_an_open_transaction_counts() -> None:
    assert not db.in_transaction()
    with transaction.atomic():
        assert db.in_transaction()


@whole
def test_after_commit_comes_after_the_outermost_commit_or_never() -> None:
    told: list[str] = []
    with transaction.atomic():
        with transaction.atomic():
            db.after_commit(lambda: told.append("kept"))
        assert told == []
    with pytest.raises(KeyError), transaction.atomic():
        db.after_commit(lambda: told.append("lost"))
        raise KeyError
    db.after_commit(lambda: told.append("at once"))
    assert told == ["kept", "at once"]


@whole
def test_what_fails_after_the_commit_breaks_nobody() -> None:
    told: list[int] = []
    with transaction.atomic():
        db.after_commit(lambda: 1 / 0)
        db.after_commit(lambda: told.append(1))
    assert told == [1]


@whole
def test_lock_rows_come_in_order_and_are_made() -> None:
    Tenant.objects.create(tenant_id="b")
    with transaction.atomic():
        rows = db.lock_rows(Tenant, ["c", "a", "b", "a"])
    assert [row.pk for row in rows] == ["a", "b", "c"]
    assert tenant_names() == ["a", "b", "c"]
    with transaction.atomic():
        assert db.lock_rows(Tenant, []) == []


@whole
def test_a_held_row_keeps_the_next_one_out_until_the_end() -> None:
    held, release = threading.Event(), threading.Event()
    order: list[str] = []

    def first() -> None:
        with transaction.atomic():
            db.lock_rows(Tenant, ["x"])
            held.set()
            assert release.wait(10)
            order.append("first")

    def second() -> None:
        with transaction.atomic():
            db.lock_rows(Tenant, ["y", "x"])
            order.append("second")

    one = in_thread(first)
    assert held.wait(10)
    two = in_thread(second)
    two.join(0.3)
    assert two.is_alive()
    release.set()
    one.join(10)
    two.join(10)
    assert order == ["first", "second"]


@whole
@pytest.mark.postgres
def test_a_deadlock_is_run_again_and_both_end() -> None:
    for name in ("a", "b"):
        Tenant.objects.create(tenant_id=name)
    met, runs = threading.Barrier(2), {"ab": 0, "ba": 0}

    @db.retry_deadlocks
    def rename(names: str) -> None:
        runs[names] += 1
        with transaction.atomic():
            for number, name in enumerate(names):
                Tenant.objects.filter(pk=name).update(title=Concat("title", models.Value(name)))
                if number == 0 and runs[names] == 1:
                    met.wait(10)

    threads = [in_thread(lambda: rename("ab")), in_thread(lambda: rename("ba"))]
    for thread in threads:
        thread.join(20)
    assert sum(runs.values()) >= 3
    titles = set(Tenant.objects.values_list("title", flat=True))
    assert titles == {"aa", "bb"}


def deadlock() -> OperationalError:
    cause = Exception("deadlock detected")
    cause.sqlstate = db.DEADLOCK  # type: ignore[attr-defined]
    error = OperationalError("deadlock detected")
    error.__cause__ = cause
    return error


@whole
@pytest.mark.parametrize(("inside", "runs"), [(False, 3), (True, 1)])
def test_a_deadlock_in_a_callers_transaction_is_the_callers(inside: bool, runs: int) -> None:
    seen: list[int] = []

    @db.retry_deadlocks
    def work() -> str:
        seen.append(1)
        if len(seen) < 3:
            raise deadlock()
        return "done"

    if inside:
        with pytest.raises(OperationalError), transaction.atomic():
            work()
    else:
        assert work() == "done"
    assert len(seen) == runs


@whole
def test_other_errors_are_not_repeated_and_endless_deadlocks_end() -> None:
    seen: list[int] = []

    @db.retry_deadlocks
    def work(error: Exception) -> None:
        seen.append(1)
        raise error

    with pytest.raises(OperationalError):
        work(OperationalError("disk full"))
    assert len(seen) == 1
    with pytest.raises(OperationalError):
        work(deadlock())
    assert len(seen) == 1 + db.DEADLOCK_ATTEMPTS


def end_session() -> None:
    """Terminate this connection's server session, as a firewall or a restart would."""
    with connection.cursor() as cursor:
        cursor.execute("SELECT pg_backend_pid()")
        pid = cursor.fetchone()[0]

    def kill() -> None:
        with connection.cursor() as cursor:
            cursor.execute("SELECT pg_terminate_backend(%s)", [pid])

    in_thread(kill).join(10)


@whole
@pytest.mark.postgres
def test_a_broken_connection_fails_once_and_is_replaced() -> None:
    end_session()
    with pytest.raises(DatabaseError), db.closing_broken_connection():
        Tenant.objects.count()
    assert Tenant.objects.count() == 0


@whole
@pytest.mark.postgres
def test_close_broken_replaces_a_connection_that_no_longer_works() -> None:
    end_session()
    with pytest.raises(DatabaseError):
        Tenant.objects.count()
    db.close_broken()
    assert Tenant.objects.count() == 0


@whole
def test_close_broken_rolls_back_what_was_left_open() -> None:
    Tenant.objects.create(tenant_id="before")
    transaction.atomic().__enter__()
    Tenant.objects.create(tenant_id="left open")
    assert connection.in_atomic_block
    db.close_broken()
    assert not connection.in_atomic_block
    Tenant.objects.create(tenant_id="next")
    seen: list[list[str]] = []
    in_thread(lambda: seen.append(tenant_names())).join(10)
    assert seen == [["before", "next"]]


@whole
def test_close_broken_survives_a_failed_statement_and_switched_off_autocommit() -> None:
    transaction.atomic().__enter__()
    with pytest.raises(DatabaseError), connection.cursor() as cursor:
        cursor.execute("SELECT nothing FROM nowhere")
    db.close_broken()
    assert tenant_names() == []
    transaction.set_autocommit(False)
    Tenant.objects.create(tenant_id="never committed")
    db.close_broken()
    assert transaction.get_autocommit()
    assert tenant_names() == []


@pytest.mark.django_db
def test_close_broken_leaves_a_test_cases_transaction_alone() -> None:
    Tenant.objects.create(tenant_id="a")
    db.close_broken()
    assert tenant_names() == ["a"]


@pytest.mark.django_db
def test_a_connection_is_looked_at_once_a_second_or_when_something_went_wrong(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    looks, at = [], [100.0]
    monkeypatch.setattr(connection, "close_if_unusable_or_obsolete", lambda: looks.append(at[0]))
    monkeypatch.setattr(db, "is_sound", lambda connection: sound)
    monkeypatch.setattr(db.time, "monotonic", lambda: at[0])
    sound = True
    connection.__dict__.pop(db._LOOKED_AT, None)
    for at[0] in (100.0, 100.9, 101.0, 101.5):
        db.close_stale()
    assert looks == [100.0, 101.0]
    sound = False
    db.close_stale()
    assert looks == [100.0, 101.0, 101.5]


@pytest.mark.django_db
def test_the_database_is_the_one_of_this_run() -> None:
    assert db.is_postgres() == (connection.vendor == "postgresql")


def test_only_the_first_line_of_an_error_is_told() -> None:
    assert db.first_line(OperationalError("connection failed\nIs it running?")) == "connection failed"
    assert db.first_line(OperationalError()) == "OperationalError"


@whole
@pytest.mark.parametrize("inside", [True, False])
def test_what_fails_after_a_commit_breaks_nobody_whatever_it_is(
    inside: bool, caplog: pytest.LogCaptureFixture
) -> None:
    def fails(word: str) -> None:
        raise ValueError(word)

    def write() -> None:
        Tenant.objects.create(tenant_id="a")
        db.after_commit(partial(fails, "no luck"))  # it has no name that Django could log

    if inside:
        with transaction.atomic():
            write()
    else:
        write()
    assert tenant_names() == ["a"]
    assert "no luck" in caplog.text


@whole
def test_readers_do_not_wait_for_a_writer() -> None:
    written, release = threading.Event(), threading.Event()

    def write() -> None:
        with transaction.atomic():
            Tenant.objects.create(tenant_id="a")
            written.set()
            assert release.wait(10)

    thread = in_thread(write)
    assert written.wait(10)
    assert tenant_names() == []
    release.set()
    thread.join(10)
    wait_until(lambda: tenant_names() == ["a"], timeout=10)
