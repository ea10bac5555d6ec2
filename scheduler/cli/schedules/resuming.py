"""``schedules resume``."""

from __future__ import annotations

import argparse
from typing import Any

from django.db import transaction

from jobsplatform.kernel import clock
from jobsplatform.kernel.errors import InvalidInput
from scheduler import pauses
from scheduler.cli.finding import find
from scheduler.cli.outputs import pause_output
from scheduler.cli.pause_scope import add_scope, scope_of
from scheduler.cli.sentences import pause_name, pause_sentence
from scheduler.states import PauseScope
from tasks.cli import json_output
from tasks.cli.base import PlatformCommand
from tasks.cli.operator import operator

HELP = "lift a pause"


def add(parser: argparse.ArgumentParser) -> None:
    add_scope(parser)
    parser.add_argument("--json", action="store_true", help='{"pauses": […]}, those that were lifted')


def act(command: PlatformCommand, options: dict[str, Any]) -> None:
    clock.current().sync()
    now = clock.now()
    scope, targets = scope_of(options)
    if scope is PauseScope.SCHEDULE:
        for target in targets:
            find(target)
    lifted = []
    with transaction.atomic():
        for target in targets:
            row = pauses.resume(scope, target, actor=operator(), now=now)
            if row is None:
                raise InvalidInput(f"{pause_name(scope, target)!r} is not paused.")
            lifted.append(row)
    if options["json"]:
        json_output.document(command.out, {"pauses": [pause_output(row) for row in lifted]})
        return
    for row in lifted:
        command.out.line(f"Resumed: {pause_name(row.scope, row.target)}.")
        if row.scope == PauseScope.SCHEDULE:
            wider = pauses.open_pause(row.target, now=now)
            if wider is not None:
                command.err.line(f"It still lies still. {pause_sentence(wider, now)}")
