"""Schedules, slots and decisions as rows of tables."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from datetime import datetime, tzinfo
from uuid import UUID

from scheduler import queries
from scheduler.backfill_progress import Progress
from scheduler.cli.outputs import expression, status
from scheduler.cli.times import local
from scheduler.models import Backfill
from scheduler.states import TriggerType
from tasks.cli import names
from tasks.cli.spans import age, instant
from tasks.cli.tables import Column, table
from tasks.cli.terminal import STATE_COLOURS, Terminal
from tasks.cli.text import width

WHOLE_ID = 32
"""Columns."""

_COLOURS = {
    "active": "green",
    "paused": "yellow",
    "faulty": "red",
    "archived": "dim",
    "finished": "dim",
    "fired": "green",
    "failed": "red",
    "expired": "yellow",
    "skipped": "yellow",
    "coalesced": "blue",
    "excluded": "dim",
    "run": "green",
    "overlapped": "yellow",
    "waiting": "cyan",
    "running": "cyan",
}


def colour(word: str) -> str:
    """The colour of a status or outcome."""
    return _COLOURS.get(word.split(" ")[0], STATE_COLOURS.get(word, ""))


def key_of(schedule: object) -> str:
    """``type`` or ``app:type``."""
    return names.shown(f"{getattr(schedule, 'app_id', '')}:{getattr(schedule, 'job_type', '')}")


def when(schedule: object) -> str:
    """The rule with its zone, short."""
    if getattr(schedule, "trigger_type", "") == TriggerType.MANUAL:
        return "manual"
    zone = getattr(schedule, "timezone", "UTC")
    return f"{expression(schedule)}{'' if zone == 'UTC' else f' {zone}'}"  # type: ignore[arg-type]


def last(entry: queries.Entry | None) -> str:
    """The last decision and what became of it, in words."""
    if entry is None:
        return ""
    if entry.outcome:
        return f"{entry.row.status} {entry.outcome}"
    return f"{entry.row.status}: {entry.row.reason}" if entry.row.reason else str(entry.row.status)


def schedules_table(terminal: Terminal, rows: Sequence[queries.Listed], now: datetime) -> list[str]:
    """One line a schedule. Its id is what one types next: it is cut last, and only where ids are long."""
    longest = max((width(row.schedule.id) for row in rows), default=0)
    columns = [
        Column("SCHEDULE", shrinks=longest > WHOLE_ID),
        Column("STATUS", colour=colour),
        Column("WHEN", shrinks=True),
        Column("JOB", shrinks=True),
        Column("NEXT", right=True),
        Column("LAST", shrinks=True, colour=_last_colour),
    ]
    cells = [
        [
            row.schedule.id,
            status(row),
            when(row.schedule),
            key_of(row.schedule),
            _next(row.next_slot_at, now),
            last(row.last),
        ]
        for row in rows
    ]
    return table(terminal, columns, cells)


def _last_colour(words: str) -> str:
    outcome = words.rpartition(" ")[2]
    return colour(outcome) or colour(words.partition(":")[0])


def _next(slot: datetime | None, now: datetime) -> str:
    if slot is None:
        return ""
    return age(slot, now) if slot > now else f"due {age(slot, now)}"


def slots_table(terminal: Terminal, slots: Iterable[queries.Slot], zone: tzinfo, now: datetime) -> list[str]:
    """Slots to come: in UTC, on the wall clock of the schedule, and how far off."""
    rows = list(slots)
    delayed = any(slot.due_at != slot.planned_at for slot in rows)
    elsewhere = str(zone) != "UTC"
    columns = [
        Column("SLOT"),
        *([Column(f"IN {str(zone).upper()}", shrinks=True)] if elsewhere else []),
        Column("FROM NOW", right=True),
        *([Column("STARTS")] if delayed else []),
        Column("NOTE"),
    ]
    cells = [
        [
            instant(slot.planned_at),
            *([local(slot.planned_at, zone)] if elsewhere else []),
            age(slot.planned_at, now).removeprefix("in "),
            *([instant(slot.due_at)[11:19]] if delayed else []),
            "to be skipped" if slot.skipped else "",
        ]
        for slot in rows
    ]
    if not any(slot.skipped for slot in rows):
        columns, cells = columns[:-1], [row[:-1] for row in cells]
    return table(terminal, columns, cells)


def decisions_table(terminal: Terminal, entries: Sequence[queries.Entry], *, tenants: bool) -> list[str]:
    """Decisions, newest first."""
    columns = [
        Column("SLOT"),
        *([Column("TENANT", shrinks=True)] if tenants else []),
        Column("DECIDED"),
        Column("DECISION", colour=colour),
        Column("OUTCOME", colour=colour),
        Column("WHY OR JOB", shrinks=True),
    ]
    cells = [
        [
            _slot(entry),
            *([entry.row.tenant_id] if tenants else []),
            instant(entry.row.triggered_at)[:19],
            entry.row.status,
            entry.outcome,
            entry.row.error or entry.row.reason or entry.row.task_id or "",
        ]
        for entry in entries
    ]
    return table(terminal, columns, cells)


def _slot(entry: queries.Entry) -> str:
    row = entry.row
    if row.planned_at is None:
        return "run now"
    first = instant(row.planned_at)[:19]
    return first if row.planned_until is None else f"{first} and {row.slot_count - 1:,} more"


def backfills_table(
    terminal: Terminal, rows: Sequence[Backfill], progress: Mapping[UUID, Progress]
) -> list[str]:
    """Backfills, newest first."""
    columns = [
        Column("BACKFILL"),
        Column("SCHEDULE", shrinks=True),
        Column("MODE"),
        Column("FROM"),
        Column("TO"),
        Column("STATE", colour=colour),
        Column("LOOKED AT", right=True),
        Column("DONE", right=True),
        Column("FAILED", right=True),
        Column("BY", shrinks=True),
    ]
    cells = [
        [
            row.id,
            row.schedule_id,
            row.mode,
            instant(row.after)[:16],
            instant(row.until)[:16],
            row.state,
            f"{row.total - progress[row.id].left}/{row.total}",
            progress[row.id].done,
            progress[row.id].failed,
            row.author,
        ]
        for row in rows
    ]
    return table(terminal, columns, cells)
