"""How the database keeps the rows: bloat and autovacuum on PostgreSQL, the journal on SQLite."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import datetime

from django.db import connection

from tasks.doctor.finding import Finding, ok, warning
from tasks.doctor.schema import platform_models

DEAD_ROWS = 10_000
DEAD_SHARE = 0.5


def check_storage(_: datetime) -> Iterator[Finding]:
    """What makes a database slow by and by."""
    yield from (_postgres() if connection.vendor == "postgresql" else _sqlite())


def _postgres() -> Iterator[Finding]:
    tables = [model._meta.db_table for model in platform_models()]
    with connection.cursor() as cursor:
        cursor.execute("SHOW autovacuum")
        on = cursor.fetchone()[0] == "on"
        cursor.execute(
            "SELECT relname, n_live_tup, n_dead_tup, last_autovacuum FROM pg_stat_user_tables "
            "WHERE relname = ANY(%s) AND schemaname = ANY(current_schemas(false))",
            [tables],
        )
        rows = cursor.fetchall()
    if not on:
        yield warning("storage", "Autovacuum is off: dead rows pile up.", "Set autovacuum to on.")
    bloated = [row for row in rows if row[2] > DEAD_ROWS and row[2] > DEAD_SHARE * row[1]]
    for name, live, dead, vacuumed in bloated:
        when = f"{vacuumed:%Y-%m-%d %H:%M} UTC" if vacuumed else "never"
        text = f"{name} has {dead:,} dead rows beside {live:,} live ones (last autovacuum: {when})."
        yield warning("storage", text, f"VACUUM (ANALYZE) {name};", table=name, dead=dead, live=live)
    if on and not bloated:
        yield ok("storage", "Autovacuum is on and no table is bloated.")


def _sqlite() -> Iterator[Finding]:
    with connection.cursor() as cursor:
        cursor.execute("PRAGMA journal_mode")
        journal = cursor.fetchone()[0]
        cursor.execute("PRAGMA busy_timeout")
        patience = cursor.fetchone()[0]
    if journal != "wal":
        text = f"The journal mode is {journal}: readers and writers stop each other."
        yield warning("storage", text, "PRAGMA journal_mode=WAL; on the database file.", journal=journal)
    elif patience < 1000:
        text = f"Writers wait only {patience} ms for each other."
        yield warning(
            "storage", text, "Raise the timeout of the database connection.", busy_timeout_ms=patience
        )
    else:
        yield ok("storage", f"WAL journal, writers wait up to {patience / 1000:g} s.")
