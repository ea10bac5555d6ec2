"""The cursors of many schedules, moved in one statement, each only from where it was read."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime
from functools import cache, lru_cache
from typing import Any, NamedTuple

from django.db import DEFAULT_DB_ALIAS, connections
from django.db.models import QuerySet

from jobsplatform.kernel.db import is_postgres
from jobsplatform.kernel.instants import Unreadable
from scheduler.models import Schedule, ScheduleState
from scheduler.readable import told, unreadable_columns
from scheduler.sql.document import document, source

_STATE = ScheduleState._meta.db_table
_SCHEDULE = Schedule._meta.db_table


class Standing(NamedTuple):
    """A cursor as it was read: what a round needs of a ScheduleState."""

    id: int
    schedule_id: str
    tenant_id: str
    last_planned_at: datetime
    last_fired_at: datetime | None
    revision: int
    fired: int
    episode: int
    skips: Any


def lock(rows: QuerySet[ScheduleState], *, skip_locked: bool) -> list[Standing]:
    """The cursors of ``rows``, held until the transaction ends; those in another's hands are waited for or left out.

    Raises ValueError for one that cannot be read: nothing can be planned from it.
    """
    held = rows.select_for_update(skip_locked=skip_locked).values_list(*Standing._fields)
    found = [Standing(*row) for row in held]
    for row in found:
        if type(row.last_planned_at) is Unreadable or type(row.last_fired_at) is Unreadable:
            raise ValueError(told(unreadable_columns(row._asdict(), Standing._fields)))
    return found


class Move(NamedTuple):
    """A cursor as it shall be. ``was``: the ``last_planned_at`` it was read with; ``revision``: of the schedule that
    it was planned by."""

    id: int
    was: datetime
    revision: int
    last_planned_at: datetime
    last_fired_at: datetime | None
    last_triggered_at: datetime | None  # None: as it was
    last_checked_at: datetime
    next_due_at: datetime | None
    next_slot_at: datetime | None
    fired: int
    episode: int
    skips: list[str]


_WRITTEN = Move._fields[2:]
_OWN = ("id", "was", "revision", "skips")
"""What rows are found by is never bound: a constant would have the database guess how many have it, and read the
whole table for those."""


def move(moves: Sequence[Move]) -> int:
    """Write the cursors whose row still stands at ``was`` and whose schedule still has ``revision``: how many."""
    if not moves:
        return 0
    with connections[DEFAULT_DB_ALIAS].cursor() as cursor:
        if is_postgres():
            names, bound = document(moves, _OWN)
            cursor.execute(_all(names), bound)
        else:
            cursor.executemany(_one(), [_values(each) for each in moves])
        return int(cursor.rowcount)


@lru_cache(maxsize=64)
def _all(names: tuple[str, ...]) -> str:
    connection = connections[DEFAULT_DB_ALIAS]
    types = {f.attname: f.db_type(connection) for f in ScheduleState._meta.concrete_fields}
    types |= {"id": "bigint", "was": types["last_planned_at"]}
    rows, value = source(names, types)
    given = ", ".join(f"{name} = {_value(name, value(name), 's.')}" for name in _WRITTEN)
    return f"""
        UPDATE {_STATE} AS s SET {given} FROM {rows}, {_SCHEDULE} AS d
        WHERE s.id = v.id AND s.last_planned_at = {value("was")}
            AND d.id = s.schedule_id AND d.revision = {value("revision")}"""


@cache
def _one() -> str:
    given = ", ".join(f"{name} = {_value(name, '%s')}" for name in _WRITTEN)
    return f"""
        UPDATE {_STATE} SET {given} WHERE id = %s AND last_planned_at = %s AND EXISTS (
            SELECT 1 FROM {_SCHEDULE} AS d WHERE d.id = schedule_id AND d.revision = %s)"""


def _value(name: str, given: str, row: str = "") -> str:
    return f"COALESCE({given}, {row}{name})" if name == "last_triggered_at" else given


def _values(each: Move) -> list[Any]:
    connection = connections[DEFAULT_DB_ALIAS]
    fields = {f.attname: f for f in ScheduleState._meta.concrete_fields}
    written = [fields[name].get_db_prep_save(getattr(each, name), connection) for name in _WRITTEN]
    was = fields["last_planned_at"].get_db_prep_save(each.was, connection)
    return [*written, each.id, was, each.revision]
