"""``jobs purge``."""

from __future__ import annotations

import argparse
from dataclasses import replace
from datetime import timedelta
from typing import Any

from jobsplatform.kernel import clock
from jobsplatform.kernel.errors import InvalidInput
from tasks import prune, queries
from tasks.cli import arguments, json_output
from tasks.cli.base import PlatformCommand
from tasks.cli.confirm import confirmed
from tasks.cli.filter_options import add_filter_options, chosen
from tasks.cli.operator import operator
from tasks.states import FINAL

HELP = "remove ended jobs before their retention has passed"


def add(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "--older-than",
        type=arguments.seconds,
        metavar="TIME",
        help="that ended at least this long ago (7d, 12h)",
    )
    parser.add_argument("--dry-run", action="store_true", help="count them, and remove nothing")
    parser.add_argument("--yes", "-y", action="store_true", help="do not ask")
    parser.add_argument("--json", action="store_true", help='{"count": N, "dry_run": …}')
    add_filter_options(parser)


def act(command: PlatformCommand, options: dict[str, Any]) -> None:
    now = clock.now()
    wanted = chosen(options, now)
    active = [state for state in options["state"] or () if state not in FINAL]
    if active:
        raise InvalidInput(f"Jobs that are {active[0]} have not ended: cancel them first ('jobs cancel').")
    changes: dict[str, Any] = {}
    if not options["state"]:
        changes["states"] = sorted(FINAL)
    if options["older_than"] is not None:
        changes["finished_before"] = now - timedelta(seconds=options["older_than"])
    wanted = replace(wanted, **changes)
    if not options["yes"] and not options["dry_run"]:
        count, exact = queries.count_capped(wanted.queryset())
        if count:
            confirmed(command, f"Remove {count:,}{'' if exact else ' or more'} ended jobs?")
    removed = prune.purge(wanted, actor=operator(), dry_run=options["dry_run"])
    if options["json"]:
        json_output.document(command.out, {"count": removed, "dry_run": options["dry_run"]})
    else:
        words = "would be removed" if options["dry_run"] else "removed"
        command.out.line(f"{removed:,} {'job' if removed == 1 else 'jobs'} {words}.")
