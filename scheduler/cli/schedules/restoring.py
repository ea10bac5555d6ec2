"""``schedules restore``."""

from __future__ import annotations

import argparse
from typing import Any

from jobsplatform.kernel import clock
from scheduler import control
from scheduler.cli.finding import add_schedule
from scheduler.cli.outputs import schedule_output
from tasks.cli import json_output
from tasks.cli.base import PlatformCommand
from tasks.cli.operator import operator

HELP = "take an archived schedule into use again, from now on"


def add(parser: argparse.ArgumentParser) -> None:
    add_schedule(parser)
    parser.add_argument("--json", action="store_true", help="the schedule")


def act(command: PlatformCommand, options: dict[str, Any]) -> None:
    clock.current().sync()
    row = control.restore(options["id"], actor=operator(), now=clock.now())
    if options["json"]:
        json_output.document(command.out, schedule_output(row))
    else:
        command.out.line(f"Restored: {row.id}.")
