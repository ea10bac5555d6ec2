"""``manage.py jobs``: look at jobs and steer them."""

from __future__ import annotations

from types import ModuleType
from typing import Any

from django.core.management.base import CommandParser

from tasks.cli.base import PlatformCommand
from tasks.cli.jobs import (
    cancelling,
    enqueue,
    listing,
    progress,
    purging,
    resuming,
    retrying,
    show,
    tail,
    waiting,
)
from tasks.cli.parser import add_subcommands

SUBCOMMANDS: dict[str, ModuleType] = {
    "list": listing,
    "show": show,
    "enqueue": enqueue,
    "cancel": cancelling,
    "retry": retrying,
    "resume": resuming,
    "wait": waiting,
    "tail": tail,
    "progress": progress,
    "purge": purging,
}


class Command(PlatformCommand):
    quiet = True
    help = "Look at jobs and steer them."

    def add_arguments(self, parser: CommandParser) -> None:
        parsers = add_subcommands(parser, {name: module.HELP for name, module in SUBCOMMANDS.items()})
        for name, module in SUBCOMMANDS.items():
            module.add(parsers[name])

    def act(self, options: dict[str, Any]) -> int | None:
        code: int | None = SUBCOMMANDS[options["subcommand"]].act(self, options)
        return code
