"""``schedules pause``."""

from __future__ import annotations

import argparse
from typing import Any

from django.db import transaction

from jobsplatform.kernel import clock
from jobsplatform.kernel.errors import InvalidInput
from scheduler import pauses
from scheduler.cli.outputs import pause_output
from scheduler.cli.pause_scope import add_scope, scope_of
from scheduler.cli.sentences import pause_name
from scheduler.states import ResumeRule
from tasks.cli import arguments, json_output
from tasks.cli.base import PlatformCommand
from tasks.cli.operator import operator
from tasks.cli.spans import instant as shown

HELP = "let schedules, a tenant's or all of them, fire nothing by themselves"


def add(parser: argparse.ArgumentParser) -> None:
    add_scope(parser)
    parser.add_argument("--reason", default="", metavar="TEXT", help="why, for those who wonder")
    parser.add_argument("--expires", metavar="TIME", help="lift it by itself then (ISO, or +1h)")
    parser.add_argument(
        "--resume-rule",
        type=arguments.member("resume rule", ResumeRule),
        default=str(ResumeRule.DROP),
        metavar="RULE",
        help="what becomes of its slots when it ends: drop (default), or misfire: as its misfire policy says",
    )
    parser.add_argument("--json", action="store_true", help='{"pauses": […]}')


def act(command: PlatformCommand, options: dict[str, Any]) -> None:
    clock.current().sync()
    now = clock.now()
    scope, targets = scope_of(options)
    given = options["expires"]
    expires = arguments.instant(given, now) if given is not None else None
    if expires is not None and expires <= now:
        raise InvalidInput(f"--expires {given} is not in the future.")
    with transaction.atomic():
        made = [
            pauses.pause(
                scope,
                target,
                actor=operator(),
                reason=options["reason"],
                expires_at=expires,
                resume_rule=options["resume_rule"],
                now=now,
            )
            for target in targets
        ]
    if options["json"]:
        json_output.document(command.out, {"pauses": [pause_output(row) for row in made]})
        return
    for row in made:
        until = f" until {shown(row.expires_at)}" if row.expires_at else ""
        command.out.line(f"Paused{until}: {pause_name(row.scope, row.target)}.")
