"""``schedules why``."""

from __future__ import annotations

import argparse
from typing import Any

from jobsplatform.kernel import clock
from scheduler.cli.finding import add_schedule, add_tenant, zone_of
from scheduler.cli.times import instant
from scheduler.models import Schedule
from scheduler.timetables.zones import zone
from scheduler.why import why
from tasks.cli import json_output
from tasks.cli.base import PlatformCommand
from tasks.cli.tables import facts
from tasks.cli.text import plain

HELP = "why did a slot fire, or not?"


def add(parser: argparse.ArgumentParser) -> None:
    add_schedule(parser)
    parser.add_argument(
        "time", metavar="T", help="the slot's time (ISO; without an offset in the schedule's zone; 2h ago)"
    )
    add_tenant(parser)
    parser.add_argument(
        "--json", action="store_true", help='{"verdict", "sentence", "decision", "chain": […], …}'
    )


def act(command: PlatformCommand, options: dict[str, Any]) -> None:
    now = clock.now()
    # A schedule that is gone still has its history, told in UTC.
    schedule = Schedule.objects.filter(id=options["id"]).first()
    read_in = zone_of(schedule) if schedule is not None else zone("UTC")
    at = instant(options["time"], read_in, now, "time", past=True)
    answer = why(options["id"], at, options["tenant"] or "", now)
    if options["json"]:
        json_output.document(command.out, answer.as_dict())
        return
    command.out.line(plain(answer.sentence))
    if answer.chain:
        command.out.line()
        for line in facts(dict(answer.chain), indent="  "):
            command.out.line(line)
