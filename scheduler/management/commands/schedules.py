"""``manage.py schedules``: look at schedules and steer them."""

from __future__ import annotations

from types import ModuleType
from typing import Any

from django.core.management.base import CommandParser

from scheduler.cli.base import ScheduleCommand
from scheduler.cli.schedules import (
    adding,
    archiving,
    backfilling,
    checking,
    editing,
    explaining,
    exporting,
    importing,
    listing,
    pausing,
    preview,
    restoring,
    resuming,
    running,
    show,
    skipping,
    syncing,
    unskipping,
    upcoming,
)
from tasks.cli.parser import add_subcommands

SUBCOMMANDS: dict[str, ModuleType] = {
    "list": listing,
    "show": show,
    "preview": preview,
    "next": upcoming,
    "why": explaining,
    "add": adding,
    "edit": editing,
    "archive": archiving,
    "restore": restoring,
    "pause": pausing,
    "resume": resuming,
    "run": running,
    "skip": skipping,
    "unskip": unskipping,
    "backfill": backfilling,
    "sync": syncing,
    "check": checking,
    "import": importing,
    "export": exporting,
}


class Command(ScheduleCommand):
    help = "Look at schedules and steer them."

    def add_arguments(self, parser: CommandParser) -> None:
        parsers = add_subcommands(parser, {name: module.HELP for name, module in SUBCOMMANDS.items()})
        for name, module in SUBCOMMANDS.items():
            module.add(parsers[name])

    def do(self, options: dict[str, Any]) -> int | None:
        code: int | None = SUBCOMMANDS[options["subcommand"]].act(self, options)
        return code
