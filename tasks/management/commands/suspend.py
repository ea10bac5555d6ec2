"""``manage.py suspend``: stop new starts, or list what is stopped."""

from __future__ import annotations

from typing import Any

from django.core.management.base import CommandParser

from jobsplatform.kernel import clock
from jobsplatform.kernel.errors import InvalidInput
from tasks import control, suspensions
from tasks.cli import arguments, json_output
from tasks.cli.base import PlatformCommand
from tasks.cli.operator import operator
from tasks.cli.suspension_scope import add_scope, output, shown, suspensions_table, target


class Command(PlatformCommand):
    quiet = True
    help = "Stop new starts of everything, an app, a job type or a queue; without a scope, list them."

    def add_arguments(self, parser: CommandParser) -> None:
        add_scope(parser, optional=True)
        parser.add_argument("--list", action="store_true", help="list what is suspended")
        parser.add_argument("--reason", default="", metavar="TEXT", help="why, for those who wonder")
        parser.add_argument("--expires", metavar="TIME", help="lift it by itself then (ISO, or +1h)")
        parser.add_argument(
            "--interrupt", action="store_true", help="ask running jobs to stop; they go on later"
        )
        parser.add_argument("--json", action="store_true", help='{"suspensions": […]}')

    def act(self, options: dict[str, Any]) -> None:
        clock.current().sync()
        now = clock.now()
        if options["list"] or not options["scope"]:
            _refuse_without_scope(options)
            self._list(as_json=options["json"])
            return
        given = options["expires"]
        expires = arguments.instant(given, now) if given is not None else None
        if expires is not None and expires <= now:
            raise InvalidInput(f"--expires {options['expires']} is not in the future.")
        made = control.suspend(
            options["scope"],
            target(options, now),
            actor=operator(),
            reason=options["reason"],
            expires_at=expires,
            interrupt=options["interrupt"],
        )
        if options["json"]:
            json_output.document(self.out, {"suspensions": [output(made)]})
        else:
            self.out.line(f"Suspended: {shown(made)}.")

    def _list(self, *, as_json: bool) -> None:
        now = clock.now()
        rows = suspensions.in_force(now)
        if as_json:
            json_output.document(self.out, {"suspensions": [output(row) for row in rows]})
        elif not rows:
            self.out.line("Nothing is suspended.")
        else:
            for line in suspensions_table(self.out, rows, now):
                self.out.line(line)


def _refuse_without_scope(options: dict[str, Any]) -> None:
    for name in ("scope", "reason", "expires", "interrupt"):
        if options[name] and (name == "scope") == options["list"]:
            raise InvalidInput(
                "Name what to suspend: all, app NAME, type NAME or queue NAME; or --list alone."
            )
