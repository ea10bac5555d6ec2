"""``manage.py unsuspend``: let starts go on."""

from __future__ import annotations

from typing import Any

from django.core.management.base import CommandParser

from jobsplatform.kernel import clock
from jobsplatform.kernel.errors import InvalidInput
from tasks import control, suspensions
from tasks.cli import json_output
from tasks.cli.base import PlatformCommand
from tasks.cli.operator import operator
from tasks.cli.suspension_scope import add_scope, output, shown, stored, target


class Command(PlatformCommand):
    quiet = True
    help = "Lift a suspension; what waited starts a few at a time."

    def add_arguments(self, parser: CommandParser) -> None:
        add_scope(parser, optional=False)
        parser.add_argument("--json", action="store_true", help='{"suspensions": [the one that was lifted]}')

    def act(self, options: dict[str, Any]) -> None:
        clock.current().sync()
        now = clock.now()
        in_force = suspensions.in_force(now)
        there = {(row.scope, row.target) for row in in_force}
        # What is suspended can be lifted, also when no release knows it any more; then only is it a question of names.
        wanted = stored(options)
        if (options["scope"], wanted) not in there:
            wanted = target(options, now)
        if (options["scope"], wanted) not in there:
            others = ", ".join(shown(row) for row in in_force) or "nothing"
            raise InvalidInput(
                f"{options['scope']} {options['target'] or ''}".strip() + f" is not suspended; {others} is."
            )
        lifted = control.unsuspend(options["scope"], wanted, actor=operator())
        if options["json"]:
            json_output.document(self.out, {"suspensions": [output(lifted)]})
        else:
            self.out.line(f"Lifted: {shown(lifted)}.")
