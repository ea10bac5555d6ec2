"""``schedules sync``."""

from __future__ import annotations

import argparse
from typing import Any

from jobsplatform.kernel import clock
from scheduler import sync
from tasks.cli import json_output
from tasks.cli.base import PlatformCommand
from tasks.cli.exits import DONE, WRONG_USE
from tasks.cli.operator import operator

HELP = "store the schedules that code declares; archive those that it does not declare any more"


def add(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "--json", action="store_true", help='{"created", "updated", "archived", "unchanged", "faults"}'
    )


def act(command: PlatformCommand, options: dict[str, Any]) -> int:
    clock.current().sync()
    result = sync.sync(clock.now(), operator())
    faults = [str(fault) for fault in result.faults]
    if options["json"]:
        document = {name: _names(getattr(result, name)) for name in _LISTS}
        json_output.document(command.out, {**document, "faults": faults})
    else:
        for name in _LISTS[:3]:
            for schedule_id in _names(getattr(result, name)):
                command.out.line(f"{name}  {schedule_id}")
        unchanged = len(_names(result.unchanged))
        command.out.line(f"{unchanged:,} unchanged.")
    for fault in faults:
        command.err.line(f"Error: {fault}")
    return WRONG_USE if faults else DONE


_LISTS = ("created", "updated", "archived", "unchanged")


def _names(rows: Any) -> list[str]:
    return sorted(str(getattr(row, "id", row)) for row in rows)
