"""What saving a schedule means: its next slots, the clock changes it meets, and the slots that an edit moves."""

from __future__ import annotations

from datetime import datetime, timedelta
from typing import Any

from scheduler import definition, timetables
from scheduler.cli.finding import zone_of
from scheduler.cli.outputs import schedule_output, slot_outputs
from scheduler.cli.rows import slots_table
from scheduler.cli.sentences import rule_sentence
from scheduler.cli.times import local
from scheduler.models import Schedule
from scheduler.queries import next_slots
from scheduler.states import TriggerType
from scheduler.timetables import ClockChange, Timetable
from tasks.cli import json_output
from tasks.cli.base import PlatformCommand
from tasks.cli.json_output import instant
from tasks.cli.spans import instant as shown

SLOTS, CHANGES, MOVED = 5, 4, 100
LOOK_AHEAD = timedelta(days=90)


def tell(
    command: PlatformCommand,
    row: Schedule,
    old: Timetable | None,
    now: datetime,
    *,
    as_json: bool,
    dry_run: bool,
) -> None:
    """Say what a schedule is (would be) from now on. ``old``: its timetable before an edit, None for a new one."""
    timetable = definition.timetable_of(row)
    slots = [] if timetable.follows_end else next_slots(row, SLOTS, after=now)
    changes = timetables.clock_changes(timetable, row.timezone, now)
    added, removed = _moved(row, old, timetable, now)
    if as_json:
        document = {
            **schedule_output(row),
            "dry_run": dry_run,
            "slots": slot_outputs(slots),
            "clock_changes": [_change(change) for change in changes],
            "added": [instant(slot) for slot in added],
            "removed": [instant(slot) for slot in removed],
        }
        json_output.document(command.out, document)
        return
    command.out.line(row.id)
    out, zone = command.err, zone_of(row)
    out.line(f"{rule_sentence(row)}  ({timetable.expression})")
    for line in slots_table(out, slots, zone, now) if slots else ():
        out.line(line)
    for change in changes[:CHANGES]:
        verb = "skip" if change.kind == "gap" else "repeat"
        instead = f" ({', '.join(local(slot, zone) for slot in change.slots)})" if change.slots else ""
        out.line(f"{change.day}: the clocks {verb} {', '.join(change.times)}; {change.rule}{instead}.")
    if old is not None and (added or removed):
        out.line(f"In the next {LOOK_AHEAD.days} days {_counted(added)} slots come, {_counted(removed)} go.")
        for sign, moved in (("+", added), ("-", removed)):
            for slot in moved[:SLOTS]:
                out.line(f"  {sign} {shown(slot)} ({local(slot, zone)})")
    if dry_run:
        out.line("Nothing was stored.")


def _moved(
    row: Schedule, old: Timetable | None, new: Timetable, now: datetime
) -> tuple[list[datetime], list[datetime]]:
    if old is None or row.trigger_type == TriggerType.MANUAL or old.follows_end or new.follows_end:
        return [], []
    return timetables.difference(old, new, now, now + LOOK_AHEAD, MOVED)


def _counted(slots: list[datetime]) -> str:
    return f"{'at least ' if len(slots) == MOVED else ''}{len(slots)}"


def _change(change: ClockChange) -> dict[str, Any]:
    return {
        "at": instant(change.at),
        "day": change.day.isoformat(),
        "kind": change.kind,
        "times": list(change.times),
        "slots": [instant(slot) for slot in change.slots],
        "rule": change.rule,
    }
