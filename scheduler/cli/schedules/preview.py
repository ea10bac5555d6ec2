"""``schedules preview``: the slots of a timetable that need not exist. Touches no database."""

from __future__ import annotations

import argparse
from datetime import datetime
from typing import Any

from jobsplatform.kernel import clock
from scheduler.cli.times import instant, local
from scheduler.cli.timetable_options import DEFAULT_ZONE, add_timetable, chosen
from scheduler.states import TriggerType
from scheduler.timetables import Timetable, build, describe
from scheduler.timetables import zone as zone_named
from tasks.cli import arguments, json_output
from tasks.cli.base import PlatformCommand
from tasks.cli.spans import instant as shown
from tasks.cli.tables import Column, table

HELP = "the slots of a timetable, without storing it"
DEFAULT_COUNT = 10


def add(parser: argparse.ArgumentParser) -> None:
    add_timetable(parser)
    parser.add_argument(
        "--after",
        metavar="TIME",
        help="slots after this time, itself left out (ISO; without an offset in --timezone; default now)",
    )
    parser.add_argument(
        "-n", type=arguments.count, default=DEFAULT_COUNT, metavar="N", help="how many slots (default 10)"
    )
    parser.add_argument(
        "--id", metavar="ID", help="as the schedule of this id would have it: it decides what H means"
    )
    parser.add_argument("--json", action="store_true", help='{"expression", "timezone", "slots"}')


def act(command: PlatformCommand, options: dict[str, Any]) -> None:
    name = options["timezone"] if options["timezone"] is not None else DEFAULT_ZONE
    trigger, config = chosen(options)
    zone = zone_named(name)
    now = clock.SystemClock().now()  # of this machine: the database is not asked
    after = instant(options["after"], zone, now, "after", past=True) if options["after"] is not None else now
    if trigger is TriggerType.INTERVAL:
        config.setdefault("anchor", after.replace(microsecond=0).isoformat())
    timetable = build(trigger, config, zone.key, schedule_id=options["id"] or "")
    slots = upcoming(timetable, after, options["n"])
    if options["json"]:
        json_output.document(
            command.out,
            {
                "expression": timetable.expression,
                "timezone": zone.key,
                "slots": [json_output.instant(slot) for slot in slots],
            },
        )
        return
    command.out.line(f"{describe(timetable)}  ({timetable.expression})")
    if not slots:
        command.out.line(f"No slot after {shown(after)}.")
        return
    command.out.line()
    columns = [Column("SLOT"), Column(f"IN {zone.key.upper()}", shrinks=True)]
    rows = [[shown(slot), local(slot, zone)] for slot in slots]
    if zone.key == "UTC":
        columns, rows = columns[:1], [row[:1] for row in rows]
    for line in table(command.out, columns, rows):
        command.out.line(line)


def upcoming(timetable: Timetable, after: datetime, count: int) -> list[datetime]:
    """The first ``count`` slots after ``after``, itself left out; fewer when there are no more."""
    slots: list[datetime] = []
    slot = timetable.next(after)
    while slot is not None and len(slots) < count:
        slots.append(slot)
        slot = timetable.next(slot)
    return slots
