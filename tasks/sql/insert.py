"""New job rows, written by hand: most columns of a new job hold what every new job has.

Such values stand in the statement itself, so that only what differs is bound, checked and sent (a driver parses
a long statement with many parameters anew each time). Rows that differ in id and params alone are one statement.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Sequence
from contextlib import nullcontext
from functools import lru_cache
from operator import itemgetter
from typing import Any

from django.db import DEFAULT_DB_ALIAS, connections, transaction
from django.db.backends.base.base import BaseDatabaseWrapper
from django.db.models import JSONField

from jobsplatform.kernel.prepared import prepared_cursor
from tasks.drafts import Common, Draft
from tasks.models import Job

ROWS = 10_000
CHARACTERS = 32 * 2**20
"""A statement carries no more rows, and about no more text of params; PostgreSQL takes a value of 256 MB at most."""

# A new job has no result or checkpoint yet, and its data are empty.
_SHARED = tuple(
    f for f in Job._meta.concrete_fields if f.attname not in ("id", "params") and not isinstance(f, JSONField)
)
_shared_values = itemgetter(*(f.attname for f in _SHARED))
_USUAL = _shared_values(Job().__dict__)
_FIRST = "id, params, data"

Values = tuple[Any, ...]
Part = tuple[Values, list[str], list[str]]


def insert(drafts: Sequence[Draft]) -> None:
    """Store new jobs, all or none, in the transaction of the caller if there is one."""
    if not drafts:
        return
    connection = connections[DEFAULT_DB_ALIAS]
    on_postgres = connection.vendor == "postgresql"
    store = _store if on_postgres else _store_portably
    parts = [part for values, group in _alike(drafts) for part in _parts(values, group)]
    # One statement is all or none by itself, and saves the round trips of a transaction.
    alone = len(parts) == 1 and (on_postgres or len(drafts) == 1)
    with nullcontext() if alone else transaction.atomic():
        for values, ids, texts in parts:
            store(connection, values, ids, texts)


def _alike(drafts: Iterable[Draft]) -> Iterable[tuple[Values, list[Draft]]]:
    """The drafts in groups that share every column but id and params; each group keeps their order."""
    groups: dict[Values, list[Draft]] = {}
    before: Common | None = None
    for draft in drafts:
        if draft.common is not before or draft.keys:
            group = groups.setdefault(_shared_values(draft.columns()), [])
            before = None if draft.keys else draft.common
        group.append(draft)
    return groups.items()


def _parts(values: Values, group: Iterable[Draft]) -> Iterator[Part]:
    """What one statement takes at a time: the values they share, ids in hexadecimal digits, params as JSON."""
    ids: list[str] = []
    texts: list[str] = []
    size = 0
    for draft in group:
        text = json.dumps(draft.params)
        if ids and (len(ids) == ROWS or size + len(text) > CHARACTERS):
            yield values, ids, texts
            ids, texts, size = [], [], 0
        ids.append(draft.id.hex)
        texts.append(text)
        size += len(text)
    yield values, ids, texts


def _store(
    connection: BaseDatabaseWrapper, values: Sequence[Any], ids: Sequence[str], texts: Sequence[str]
) -> None:
    differing, bound = _differing(connection, values)
    if len(ids) == 1:
        with prepared_cursor(connection) as cursor:
            cursor.execute(_one(differing), [ids[0], texts[0], *bound])
    else:
        with connection.cursor() as cursor:
            # As one JSON array the params need no quoting of each.
            arrays = ["{" + ",".join(ids) + "}", "[" + ",".join(texts) + "]"]
            cursor.execute(_many(differing), [*bound, *arrays])


def _store_portably(
    connection: BaseDatabaseWrapper, values: Sequence[Any], ids: Sequence[str], texts: Sequence[str]
) -> None:
    differing, bound = _differing(connection, values)
    rows = [[job_id, text, *bound] for job_id, text in zip(ids, texts, strict=True)]
    with connection.cursor() as cursor:
        if len(rows) == 1:
            cursor.execute(_one(differing), rows[0])
        else:
            cursor.executemany(_one(differing), rows)


def _differing(connection: BaseDatabaseWrapper, values: Sequence[Any]) -> tuple[tuple[int, ...], list[Any]]:
    """Which of the shared columns have to be bound, by position; and their values for this database."""
    differing = tuple(
        n
        for n, (value, usual) in enumerate(zip(values, _USUAL, strict=True))
        if value is not usual and value != usual
    )
    return differing, [_SHARED[n].get_db_prep_save(values[n], connection) for n in differing]


@lru_cache(maxsize=256)
def _one(differing: tuple[int, ...]) -> str:
    names, values = _columns(differing, typed=False)
    return f"INSERT INTO tasks_job ({_FIRST}, {names}) VALUES (%s, %s, '{{}}', {values})"


@lru_cache(maxsize=256)
def _many(differing: tuple[int, ...]) -> str:
    names, values = _columns(differing, typed=True)
    return f"""INSERT INTO tasks_job ({_FIRST}, {names}) SELECT v.id, v.params, '{{}}', {values}
        FROM ROWS FROM (unnest(%s::uuid[]), jsonb_array_elements(%s::jsonb)) AS v(id, params)"""


def _columns(differing: Sequence[int], *, typed: bool) -> tuple[str, str]:
    """Names and values of the shared columns that are written; those left out are NULL."""
    names, values = [], []
    for n, field in enumerate(_SHARED):
        if n in differing:
            cast = f"::{field.db_type(connections[DEFAULT_DB_ALIAS])}" if typed else ""
            values.append(f"%s{cast}")
        elif _USUAL[n] is None:
            continue
        else:
            values.append(_literal(_USUAL[n]))
        names.append(field.column)
    return ", ".join(names), ", ".join(values)


def _literal(usual: str | int | bool) -> str:
    """A usual value as both databases read it; none of them has a quote or a percent sign."""
    if isinstance(usual, bool):
        return "true" if usual else "false"
    return f"'{usual}'" if isinstance(usual, str) else str(int(usual))
