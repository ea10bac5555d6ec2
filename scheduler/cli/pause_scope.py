"""What a pause is of: schedules, a tenant, or everything."""

from __future__ import annotations

import argparse
from collections.abc import Mapping
from typing import Any

from jobsplatform.kernel.errors import InvalidInput
from scheduler.cli.finding import add_schedule
from scheduler.states import PauseScope


def add_scope(parser: argparse.ArgumentParser) -> None:
    """Ids, ``--tenant`` or ``--all``."""
    add_schedule(parser, many=True)
    parser.add_argument("--tenant", metavar="ID", help="every schedule, for this tenant")
    parser.add_argument("--all", action="store_true", help="every schedule")


def scope_of(options: Mapping[str, Any]) -> tuple[PauseScope, list[str]]:
    """The scope and its targets. Raises InvalidInput unless exactly one was said."""
    said = [bool(options["ids"]), bool(options["tenant"]), options["all"]]
    if sum(said) != 1:
        raise InvalidInput("Say which: the ids of schedules, or --tenant ID, or --all.")
    if options["all"]:
        return PauseScope.ALL, [""]
    if options["tenant"]:
        return PauseScope.TENANT, [options["tenant"]]
    return PauseScope.SCHEDULE, list(dict.fromkeys(options["ids"]))
