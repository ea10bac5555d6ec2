"""``manage.py tokens``: what apps use the bus with."""

from __future__ import annotations

from types import ModuleType
from typing import Any

from django.core.management.base import CommandParser

from tasks.cli.base import PlatformCommand
from tasks.cli.parser import add_subcommands
from tasks.cli.tokens import creating, listing, revoking

SUBCOMMANDS: dict[str, ModuleType] = {"create": creating, "list": listing, "revoke": revoking}


class Command(PlatformCommand):
    quiet = True
    help = "Make, list and revoke the tokens that apps use the bus with."

    def add_arguments(self, parser: CommandParser) -> None:
        parsers = add_subcommands(parser, {name: module.HELP for name, module in SUBCOMMANDS.items()})
        for name, module in SUBCOMMANDS.items():
            module.add(parsers[name])

    def act(self, options: dict[str, Any]) -> int | None:
        code: int | None = SUBCOMMANDS[options["subcommand"]].act(self, options)
        return code
