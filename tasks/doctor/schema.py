"""Indexes and constraints: what the models declare against what the database has."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import datetime
from typing import Any

from django.apps import apps
from django.db import connection
from django.db.models import Index, Model

from tasks.doctor.finding import Finding, fault, ok

_APPS = ("tasks", "kernel")


def check_schema(_: datetime) -> Iterator[Finding]:
    """Each index or constraint that is missing, and on PostgreSQL each that is there but not valid."""
    faults = [*_missing(), *_invalid()]
    yield from faults
    if not faults:
        yield ok("schema", "All declared indexes and constraints are there and valid.")


def platform_models() -> list[type[Model]]:
    """The models whose tables are ours."""
    return [model for model in apps.get_models() if model._meta.app_label in _APPS and model._meta.managed]


def _missing() -> Iterator[Finding]:
    for model in platform_models():
        table = model._meta.db_table
        with connection.cursor() as cursor:
            found = connection.introspection.get_constraints(cursor, table)
        if not found:
            yield fault("schema", f"The table {table} is missing or has no keys.", "Run 'manage.py migrate'.")
            continue
        for kind, item in [("index", i) for i in model._meta.indexes] + [
            ("constraint", c) for c in model._meta.constraints
        ]:
            if item.name not in found:
                yield _gone(model, kind, item)
        for field in model._meta.local_fields:
            if field.db_index and not field.unique and not _has_index(found, field.column):
                yield fault("schema", f"{table} has no index on {field.column}.", _migrate_again(table))


def _gone(model: type[Model], kind: str, item: Any) -> Finding:
    # Not entered: only its words are wanted, and SQLite's refuses to be entered inside a transaction.
    sql = str(item.create_sql(model, connection.schema_editor(collect_sql=True)) or "")
    if connection.vendor == "postgresql":
        sql = sql.replace("INDEX ", "INDEX CONCURRENTLY ", 1) if "INDEX " in sql else sql
    # SQLite takes a CHECK only with a new table.
    possible = connection.vendor == "postgresql" or sql.startswith("CREATE")
    advice = f"Make it again: {sql.rstrip(';')};" if sql and possible else _migrate_again("its table")
    cost = "claims and lists become slow" if isinstance(item, Index) else "illegal rows are no longer refused"
    text = f"The {kind} {item.name} of {model._meta.db_table} is missing: {cost}."
    return fault("schema", text, advice, name=item.name, table=model._meta.db_table)


def _migrate_again(what: str) -> str:
    return f"Compare 'manage.py sqlmigrate' with {what} and make it again."


def _has_index(found: dict[str, Any], column: str) -> bool:
    return any(
        (item["index"] or item["unique"]) and (item["columns"] or [None])[0] == column
        for item in found.values()
    )


def _invalid() -> Iterator[Finding]:
    if connection.vendor != "postgresql":
        return
    tables = [model._meta.db_table for model in platform_models()]
    with connection.cursor() as cursor:
        cursor.execute(
            "SELECT i.relname, t.relname FROM pg_index x JOIN pg_class i ON i.oid = x.indexrelid "
            "JOIN pg_class t ON t.oid = x.indrelid WHERE NOT (x.indisvalid AND x.indisready) "
            "AND t.relname = ANY(%s) AND pg_table_is_visible(t.oid)",
            [tables],
        )
        indexes = cursor.fetchall()
        cursor.execute(
            "SELECT c.conname, t.relname FROM pg_constraint c JOIN pg_class t ON t.oid = c.conrelid "
            "WHERE NOT c.convalidated AND t.relname = ANY(%s) AND pg_table_is_visible(t.oid)",
            [tables],
        )
        constraints = cursor.fetchall()
    for name, table in indexes:
        advice = f"REINDEX INDEX CONCURRENTLY {name};"
        yield fault(
            "schema",
            f"The index {name} of {table} is not valid: it is not used.",
            advice,
            name=name,
            table=table,
        )
    for name, table in constraints:
        advice = f"ALTER TABLE {table} VALIDATE CONSTRAINT {name};"
        yield fault(
            "schema", f"The constraint {name} of {table} is not validated.", advice, name=name, table=table
        )
