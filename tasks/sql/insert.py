"""New job rows, written by hand: most columns of a new job hold what every new job has.

Such values stand in the statement itself, so that only what differs is bound, checked and sent (a driver parses
a long statement with many parameters anew each time). Rows that differ in id and params alone are one statement;
rows of which hardly two are alike, as the slots of many schedules, are one statement too.
"""

from __future__ import annotations

import json
from collections import defaultdict
from collections.abc import Iterable, Iterator, Sequence
from contextlib import nullcontext
from functools import lru_cache
from itertools import repeat
from operator import is_, itemgetter
from typing import Any

from django.db import DEFAULT_DB_ALIAS, connections, transaction
from django.db.backends.base.base import BaseDatabaseWrapper
from django.db.models import JSONField

from jobsplatform.kernel import audit
from jobsplatform.kernel.models import AuditEvent
from jobsplatform.kernel.prepared import prepared_cursor
from tasks.drafts import Common, Draft
from tasks.models import Job

ROWS = 10_000
CHARACTERS = 32 * 2**20
"""A statement carries no more rows, and about no more text of params; PostgreSQL takes a value of 256 MB at most."""

FEW = 10
"""Fewer alike rows than this do not get a statement of their own, when there are others like them."""

# A new job has no result or checkpoint yet, and its data are empty; the few that begin with some go another way.
_SHARED = tuple(
    f for f in Job._meta.concrete_fields if f.attname not in ("id", "params") and not isinstance(f, JSONField)
)
_shared_values = itemgetter(*(f.attname for f in _SHARED))
_USUAL = _shared_values(Job().__dict__)
_FIRST = "id, params, data"

_ONCE = {False: "", True: " ON CONFLICT DO NOTHING"}

_encode = json.JSONEncoder(default=str).encode
"""Instants and ids become text, which the database reads as what their columns are."""

Values = tuple[Any, ...]
Part = tuple[Values, list[str], list[str]]
Mixed = tuple[Values, str, str]


def insert_recorded(draft: Draft, record: AuditEvent) -> None:
    """Store a new job and the record of it, both or neither. On PostgreSQL that is one statement: an app that makes
    jobs one by one pays for one round trip, where a transaction of its own has four."""
    connection = connections[DEFAULT_DB_ALIAS]
    if connection.vendor != "postgresql" or draft.common.data:
        with transaction.atomic():
            insert([draft])
            record.save()
        return
    differing, bound = _differing(connection, _shared_values(draft.columns()))
    recording, facts = audit.statement(record, connection)
    with prepared_cursor(connection) as cursor:
        made = f"WITH made AS ({_one(differing, once=False)}) {recording}"
        cursor.execute(made, [draft.id.hex, json.dumps(draft.params), *bound, *facts])


def insert(drafts: Sequence[Draft], *, once: bool = False) -> None:
    """Store new jobs, all or none, in the transaction of the caller if there is one. ``once``: those that a unique
    index refuses are left out, and nobody is told."""
    with_data = [draft for draft in drafts if draft.common.data]
    if with_data:
        with transaction.atomic():
            insert([draft for draft in drafts if not draft.common.data], once=once)
            rows = [draft.row() for draft in with_data]
            Job.objects.bulk_create(rows, batch_size=1000, ignore_conflicts=once)
        return
    if not drafts:
        return
    connection = connections[DEFAULT_DB_ALIAS]
    on_postgres = connection.vendor == "postgresql"
    store, store_mixed = (_store, _store_mixed) if on_postgres else (_store_portably, _store_mixed_portably)
    groups = list(_alike(drafts))
    small = [(values, group) for values, group in groups if len(group) < FEW]
    # One such group by itself is alike, whatever it stands beside.
    mixed = [(values, draft) for values, group in small for draft in group] if len(small) > 1 else []
    whole = [(values, group) for values, group in groups if not mixed or len(group) >= FEW]
    parts = [part for values, group in whole for part in _parts(values, group)]
    mixtures = list(_mixtures(mixed))
    # One statement is all or none by itself, and saves the round trips of a transaction.
    alone = len(parts) + len(mixtures) == 1 and (on_postgres or len(drafts) == 1)
    with nullcontext() if alone else transaction.atomic():
        for values, ids, texts in parts:
            store(connection, values, ids, texts, once)
        for mixture in mixtures:
            store_mixed(connection, mixture, once)


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


def _mixtures(mixed: Iterable[tuple[Values, Draft]]) -> Iterator[list[Mixed]]:
    """What one statement takes of rows that differ: each with its values, id and params."""
    rows: list[Mixed] = []
    size = 0
    for values, draft in mixed:
        text = json.dumps(draft.params)
        if rows and (len(rows) == ROWS or size + len(text) > CHARACTERS):
            yield rows
            rows, size = [], 0
        rows.append((values, draft.id.hex, text))
        size += len(text)
    if rows:
        yield rows


def _store_mixed(connection: BaseDatabaseWrapper, rows: Sequence[Mixed], once: bool) -> None:
    own, same = _varying([values for values, _, _ in rows])
    first = rows[0][0]
    bound = [_SHARED[n].get_db_prep_save(first[n], connection) for n in same]
    names = [_SHARED[n].column for n in own]
    documents: list[dict[str, Any]] = []
    for values, job_id, _ in rows:
        columns = {name: values[n] for name, n in zip(names, own, strict=True)}
        columns["id"] = job_id
        documents.append(columns)
    params = "[" + ",".join(text for _, _, text in rows) + "]"
    with connection.cursor() as cursor:
        cursor.execute(_many_mixed(own, same, once), [*bound, _encode(documents), params])


def _store_mixed_portably(connection: BaseDatabaseWrapper, rows: Sequence[Mixed], once: bool) -> None:
    statements: dict[tuple[int, ...], list[list[Any]]] = defaultdict(list)
    for values, job_id, text in rows:
        differing, bound = _differing(connection, values)
        statements[differing].append([job_id, text, *bound])
    with connection.cursor() as cursor:
        for differing, bindings in statements.items():
            cursor.executemany(_one(differing, once), bindings)


def _varying(all_values: Sequence[Values]) -> tuple[tuple[int, ...], tuple[int, ...]]:
    """Which of the shared columns differ from row to row, and which are the same in all but unusual.

    The very same object, not an equal one: looking at each of a column that differs costs more than to send it.
    """
    own, same = [], []
    for n, (column, usual) in enumerate(zip(zip(*all_values, strict=True), _USUAL, strict=True)):
        first = column[0]
        if not all(map(is_, column, repeat(first))):
            own.append(n)
        elif first is not usual and first != usual:
            same.append(n)
    return tuple(own), tuple(same)


def _store(
    connection: BaseDatabaseWrapper,
    values: Sequence[Any],
    ids: Sequence[str],
    texts: Sequence[str],
    once: bool,
) -> None:
    differing, bound = _differing(connection, values)
    if len(ids) == 1:
        with prepared_cursor(connection) as cursor:
            cursor.execute(_one(differing, once), [ids[0], texts[0], *bound])
    else:
        with connection.cursor() as cursor:
            # As one JSON array the params need no quoting of each.
            arrays = ["{" + ",".join(ids) + "}", "[" + ",".join(texts) + "]"]
            cursor.execute(_many(differing, once), [*bound, *arrays])


def _store_portably(
    connection: BaseDatabaseWrapper,
    values: Sequence[Any],
    ids: Sequence[str],
    texts: Sequence[str],
    once: bool,
) -> None:
    differing, bound = _differing(connection, values)
    rows = [[job_id, text, *bound] for job_id, text in zip(ids, texts, strict=True)]
    with connection.cursor() as cursor:
        if len(rows) == 1:
            cursor.execute(_one(differing, once), rows[0])
        else:
            cursor.executemany(_one(differing, once), rows)


def _differing(connection: BaseDatabaseWrapper, values: Sequence[Any]) -> tuple[tuple[int, ...], list[Any]]:
    """Which of the shared columns have to be bound, by position; and their values for this database."""
    differing = tuple(
        n
        for n, (value, usual) in enumerate(zip(values, _USUAL, strict=True))
        if value is not usual and value != usual
    )
    return differing, [_SHARED[n].get_db_prep_save(values[n], connection) for n in differing]


@lru_cache(maxsize=256)
def _one(differing: tuple[int, ...], once: bool) -> str:
    names, values = _columns(differing, typed=False)
    return f"INSERT INTO tasks_job ({_FIRST}, {names}) VALUES (%s, %s, '{{}}', {values}){_ONCE[once]}"


@lru_cache(maxsize=256)
def _many(differing: tuple[int, ...], once: bool) -> str:
    names, values = _columns(differing, typed=True)
    return f"""INSERT INTO tasks_job ({_FIRST}, {names}) SELECT v.id, v.params, '{{}}', {values}
        FROM ROWS FROM (unnest(%s::uuid[]), jsonb_array_elements(%s::jsonb)) AS v(id, params)
        {_ONCE[once]}"""


@lru_cache(maxsize=256)
def _many_mixed(own: tuple[int, ...], same: tuple[int, ...], once: bool) -> str:
    connection = connections[DEFAULT_DB_ALIAS]
    names, values = _columns(same, typed=True, leave_out=own)
    columns = [_SHARED[n].column for n in own]
    typed = ", ".join(f"{_SHARED[n].column} {_SHARED[n].db_type(connection)}" for n in own)
    taken = ", ".join(f"v.{column}" for column in columns)
    return f"""INSERT INTO tasks_job ({_FIRST}, {names}, {", ".join(columns)})
        SELECT v.id, v.params, '{{}}', {values}, {taken}
        FROM ROWS FROM (
            json_to_recordset(%s::json) AS (id uuid, {typed}), jsonb_array_elements(%s::jsonb)
        ) AS v(id, {", ".join(columns)}, params) {_ONCE[once]}"""


def _columns(differing: Sequence[int], *, typed: bool, leave_out: Sequence[int] = ()) -> tuple[str, str]:
    """Names and values of the shared columns that are written; those left out are NULL."""
    names, values = [], []
    for n, field in enumerate(_SHARED):
        if n in leave_out:
            continue
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
