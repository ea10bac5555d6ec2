"""``schedules edit``."""

from __future__ import annotations

import argparse
from dataclasses import replace
from typing import Any

from jobsplatform.kernel import clock
from jobsplatform.kernel.errors import InvalidInput, UnknownName
from scheduler import control, definition
from scheduler.cli.finding import add_schedule, live
from scheduler.cli.saved import tell
from scheduler.cli.schedules.adding import looked_at
from scheduler.cli.spec_options import UNSET, add_spec, changes, forget_other_kind, job_of
from scheduler.models import Schedule
from scheduler.spec import when_of
from scheduler.timetables import Timetable, TimetableError
from tasks.cli import arguments
from tasks.cli.base import PlatformCommand
from tasks.cli.operator import operator

HELP = "change a schedule; what is not said stays"


def add(parser: argparse.ArgumentParser) -> None:
    add_schedule(parser)
    parser.add_argument("--job", metavar="[APP:]TYPE", help="another job type")
    add_spec(parser)
    parser.add_argument(
        "--unset", action="append", default=[], metavar="NAME", help="back to the default: overlap, queue, …"
    )
    parser.add_argument(
        "--revision",
        type=arguments.count,
        metavar="N",
        help="only when it is at this revision ('show' tells)",
    )
    parser.add_argument("--dry-run", action="store_true", help="say what would change, and store nothing")
    parser.add_argument(
        "--json",
        action="store_true",
        help='the schedule with "slots", "clock_changes", "added" and "removed"',
    )


def act(command: PlatformCommand, options: dict[str, Any]) -> None:
    clock.current().sync()
    now = clock.now()
    row = live(options["id"])
    app_id, job_type = job_of(options["job"]) if options["job"] is not None else (row.app_id, row.job_type)
    given = changes(options, app_id, job_type)
    if options["job"] is not None:
        given |= {"job": job_type, "app_id": app_id}
    for name in _unset(options["unset"]):
        if name in given:
            raise InvalidInput(f"--{name.replace('_', '-')} and --unset {name} exclude each other.")
        given[name] = UNSET[name]
    if not given:
        raise InvalidInput("Nothing to change: say what, e.g. --cron '0 3 * * *' ('--help' shows all).")
    standing = definition.read(row)
    if options["param"] and options["params"] is None:
        given["params"] = {**standing.params, **given["params"]}
    (was,) = when_of(standing) or ("",)
    spec = replace(standing, **forget_other_kind(given, was))
    old = _timetable(row)
    if options["dry_run"]:
        edited = looked_at(spec, row, now, new=False)
    else:
        revision = options["revision"] or row.revision
        edited = control.update(row.id, spec, revision=revision, actor=operator(), now=now)
    tell(command, edited, old, now, as_json=options["json"], dry_run=options["dry_run"])


def _unset(names: list[str]) -> list[str]:
    wanted = [name.replace("-", "_") for name in names]
    for name in wanted:
        if name not in UNSET:
            raise UnknownName("name of --unset", name, UNSET)
    return wanted


def _timetable(row: Schedule) -> Timetable | None:
    try:
        return definition.timetable_of(row)
    except TimetableError:
        return None  # it was faulty: that may be why it is edited
