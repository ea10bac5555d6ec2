"""The trigger log: many decisions in one statement, and those that lie ahead of a cursor."""

from __future__ import annotations

import json
from collections.abc import Iterable, Sequence
from datetime import datetime
from functools import lru_cache

from django.db import DEFAULT_DB_ALIAS, connections

from jobsplatform.kernel.db import is_postgres
from scheduler.models import ScheduleTriggerLog
from scheduler.slots import Slot
from scheduler.sql.document import document, source
from scheduler.states import ORIGIN_AUTO

_BATCH = 500

Place = tuple[str, str]
"""A schedule and a tenant."""

Known = tuple[datetime, datetime, str]
"""A decision that stands: from, until, status."""

_OWN = ("id", "schedule_id")
_encode = json.JSONEncoder(default=str).encode


def insert(slots: Sequence[Slot]) -> None:
    """Write decisions, all or none. Raises IntegrityError when one of the slots has a decision already."""
    if not slots:
        return
    if not is_postgres():
        ScheduleTriggerLog.objects.bulk_create(
            [ScheduleTriggerLog(**slot._asdict()) for slot in slots], batch_size=_BATCH
        )
        return
    names, bound = document(slots, _OWN)
    with connections[DEFAULT_DB_ALIAS].cursor() as cursor:
        cursor.execute(_insert(names), bound)


@lru_cache(maxsize=64)
def _insert(names: tuple[str, ...]) -> str:
    connection = connections[DEFAULT_DB_ALIAS]
    types = {f.attname: f.db_type(connection) for f in ScheduleTriggerLog._meta.concrete_fields}
    rows, value = source(names, types)
    values = ", ".join(map(value, Slot._fields))
    return f"INSERT INTO {ScheduleTriggerLog._meta.db_table} ({', '.join(Slot._fields)}) SELECT {values} FROM {rows}"


def ahead(cursors: Iterable[tuple[str, str, datetime]]) -> dict[Place, list[Known]]:
    """The decisions about planned slots after each (schedule, tenant, instant), oldest first.

    A cursor has not passed them: somebody has named the slot by hand.
    """
    wanted = list(cursors)
    if not wanted:
        return {}
    rows = _ahead(wanted) if is_postgres() else _ahead_portably(wanted)
    found: dict[Place, list[Known]] = {}
    for schedule_id, tenant_id, planned_at, planned_until, status in rows:
        found.setdefault((schedule_id, tenant_id), []).append(
            (planned_at, planned_until or planned_at, status)
        )
    return {place: sorted(known) for place, known in found.items()}


def _ahead(wanted: Sequence[tuple[str, str, datetime]]) -> Iterable[tuple[str, str, datetime, datetime, str]]:
    # Lateral, so that each is looked up by the unique index, whatever the table's size makes of other ways.
    table = ScheduleTriggerLog._meta.db_table
    sql = f"""
        SELECT v.schedule_id, v.tenant_id, l.planned_at, l.planned_until, l.status
        FROM json_to_recordset(%s::json) AS v(schedule_id text, tenant_id text, after timestamptz)
        CROSS JOIN LATERAL (
            SELECT planned_at, planned_until, status FROM {table}
            WHERE schedule_id = v.schedule_id AND tenant_id = v.tenant_id AND planned_at > v.after
              AND origin = '{ORIGIN_AUTO}'
            ORDER BY planned_at LIMIT 10000
        ) AS l"""
    names = ("schedule_id", "tenant_id", "after")
    document = _encode([dict(zip(names, each, strict=True)) for each in wanted])
    with connections[DEFAULT_DB_ALIAS].cursor() as cursor:
        cursor.execute(sql, [document])
        return cursor.fetchall()


def _ahead_portably(
    wanted: Sequence[tuple[str, str, datetime]],
) -> Iterable[tuple[str, str, datetime, datetime, str]]:
    for start in range(0, len(wanted), _BATCH):
        part = wanted[start : start + _BATCH]
        after = {(schedule_id, tenant_id): instant for schedule_id, tenant_id, instant in part}
        rows = ScheduleTriggerLog.objects.filter(
            schedule_id__in={schedule_id for schedule_id, _ in after},
            planned_at__gt=min(after.values()),
            origin=ORIGIN_AUTO,
        ).values_list("schedule_id", "tenant_id", "planned_at", "planned_until", "status")
        for row in rows:
            mark = after.get((row[0], row[1]))
            if mark is not None and row[2] > mark:
                yield row
