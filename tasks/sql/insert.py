"""Many new job rows in one statement.

Most columns of a bulk are the same for all its rows. On PostgreSQL rows that differ in id and params alone are
inserted together, from two arrays; what they share is sent and checked once. Elsewhere the ORM does it.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Sequence
from contextlib import nullcontext
from functools import cache
from operator import itemgetter
from typing import Any

from django.db import connection, transaction
from django.db.models import JSONField

from jobsplatform.kernel.db import is_postgres
from tasks.models import Job

BATCH = 1000
_OWN = ("id", "params")
_SHARED = tuple(f for f in Job._meta.concrete_fields if f.attname not in _OWN)
# A new job has no data, result or checkpoint yet.
_shared_values = itemgetter(*(f.attname for f in _SHARED if not isinstance(f, JSONField)))


def insert(rows: Sequence[Job]) -> None:
    """Store new jobs, all or none, in the transaction of the caller if there is one."""
    if not is_postgres():
        Job.objects.bulk_create(rows, batch_size=BATCH)
        return
    parts = [alike[n : n + 10 * BATCH] for alike in _alike(rows) for n in range(0, len(alike), 10 * BATCH)]
    # One statement is all or none by itself, and saves the round trips of a transaction.
    with transaction.atomic() if len(parts) > 1 else nullcontext():
        for part in parts:
            _insert_alike(part)


def _alike(rows: Iterable[Job]) -> list[list[Job]]:
    """The rows in groups that share every column but id and params; each group keeps their order."""
    groups: dict[tuple[Any, ...], list[Job]] = {}
    for row in rows:
        groups.setdefault(_shared_values(row.__dict__), []).append(row)
    return list(groups.values())


@cache
def _statement() -> str:
    casts = ", ".join(f"%s::{f.db_type(connection)}" for f in _SHARED)
    names = ", ".join([*_OWN, *(f.column for f in _SHARED)])
    return f"""INSERT INTO tasks_job ({names})
        SELECT v.id, v.params::jsonb, {casts} FROM unnest(%s::uuid[], %s::text[]) AS v(id, params)"""


def _insert_alike(rows: Sequence[Job]) -> None:
    first = rows[0]
    shared = [
        json.dumps(value) if isinstance(f, JSONField) and value is not None else value
        for f in _SHARED
        for value in [first.__dict__[f.attname]]
    ]
    with connection.cursor() as cursor:
        cursor.execute(
            _statement(), [*shared, [row.id for row in rows], [json.dumps(row.params) for row in rows]]
        )
    for row in rows:
        row._state.adding, row._state.db = False, connection.alias
