"""Many new job rows in one statement.

Most columns of a bulk are the same for all its rows. On PostgreSQL rows that differ in id and params alone are
inserted together, from two arrays; what they share is sent and checked once. Elsewhere the ORM does it.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Sequence
from operator import itemgetter
from typing import Any

from django.db import connection
from django.db.models import JSONField

from jobsplatform.kernel.db import is_postgres
from tasks.models import Job

BATCH = 1000
FEW = 20
"""Below so many rows the detour does not pay."""

_OWN = ("id", "params")
_SHARED = tuple(f for f in Job._meta.concrete_fields if f.attname not in _OWN)
# A new job has no data, result or checkpoint yet.
_shared_values = itemgetter(*(f.attname for f in _SHARED if not isinstance(f, JSONField)))


def insert(rows: Sequence[Job]) -> None:
    """Store new jobs, in the transaction of the caller."""
    if len(rows) < FEW or not is_postgres():
        Job.objects.bulk_create(rows, batch_size=BATCH)
        return
    for alike in _alike(rows):
        for start in range(0, len(alike), 10 * BATCH):
            _insert_alike(alike[start : start + 10 * BATCH])


def _alike(rows: Iterable[Job]) -> list[list[Job]]:
    """The rows in groups that share every column but id and params; each group keeps their order."""
    groups: dict[tuple[Any, ...], list[Job]] = {}
    for row in rows:
        groups.setdefault(_shared_values(row.__dict__), []).append(row)
    return list(groups.values())


def _insert_alike(rows: Sequence[Job]) -> None:
    first = rows[0]
    casts = [f"%s::{f.db_type(connection)}" for f in _SHARED]
    names = ", ".join([*_OWN, *(f.column for f in _SHARED)])
    shared = [
        json.dumps(value) if isinstance(f, JSONField) and value is not None else value
        for f in _SHARED
        for value in [first.__dict__[f.attname]]
    ]
    with connection.cursor() as cursor:
        cursor.execute(
            f"""INSERT INTO tasks_job ({names})
            SELECT v.id, v.params::jsonb, {", ".join(casts)} FROM unnest(%s::uuid[], %s::text[]) AS v(id, params)""",
            [*shared, [row.id for row in rows], [json.dumps(row.params) for row in rows]],
        )
    for row in rows:
        row._state.adding, row._state.db = False, connection.alias
