"""Between tests that commit: the tables that hold something are emptied, and no others.

Django empties all of them and makes every content type and permission anew, each time; on PostgreSQL that takes longer
than most tests. Both are what migrations made them, so they stay.
"""

from functools import lru_cache

from django.contrib.auth.models import Permission
from django.contrib.contenttypes.models import ContentType
from django.db import connections, transaction
from django.test import TransactionTestCase

KEPT = frozenset(model._meta.db_table for model in (ContentType, Permission))


def install() -> None:
    """Empty in this way after each test from now on."""
    TransactionTestCase._fixture_teardown = _empty_all  # type: ignore[method-assign]


def _empty_all(test: TransactionTestCase) -> None:
    for alias in test._databases_names(include_mirrors=False):  # type: ignore[attr-defined]
        empty(alias)


def empty(alias: str) -> None:
    """Empty one database."""
    connection = connections[alias]
    quote = connection.ops.quote_name
    with transaction.atomic(using=alias), connection.cursor() as cursor:
        cursor.execute(
            " UNION ALL ".join(
                f"SELECT '{name}' WHERE EXISTS (SELECT 1 FROM {quote(name)})" for name in _tables(alias)
            )
        )
        full = [quote(name) for (name,) in cursor.fetchall()]
        if full and connection.vendor == "postgresql":
            cursor.execute(f"TRUNCATE {', '.join(full)} CASCADE")
        else:
            for name in full:  # in any order: references are looked at with the commit
                cursor.execute(f"DELETE FROM {name}")


@lru_cache
def _tables(alias: str) -> list[str]:
    names = connections[alias].introspection.django_table_names(only_existing=True, include_views=False)
    return sorted(set(names) - KEPT)
