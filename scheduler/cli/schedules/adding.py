"""``schedules add``."""

from __future__ import annotations

import argparse
from typing import Any

from jobsplatform.kernel import clock
from scheduler import control, definition
from scheduler.cli.finding import add_schedule
from scheduler.cli.saved import tell
from scheduler.cli.spec_options import add_spec, changes, job_of
from scheduler.errors import ScheduleExists
from scheduler.models import Schedule
from scheduler.spec import ScheduleSpec
from tasks.cli.base import PlatformCommand
from tasks.cli.operator import operator

HELP = "make a schedule"


def add(parser: argparse.ArgumentParser) -> None:
    add_schedule(parser)
    parser.add_argument("--job", metavar="[APP:]TYPE", required=True, help="the job type")
    add_spec(parser)
    parser.add_argument("--disabled", action="store_true", help="it begins paused")
    parser.add_argument("--dry-run", action="store_true", help="look at it, and store nothing")
    parser.add_argument("--json", action="store_true", help='the schedule with "slots" and "clock_changes"')


def act(command: PlatformCommand, options: dict[str, Any]) -> None:
    clock.current().sync()
    now = clock.now()
    app_id, job_type = job_of(options["job"])
    given = changes(options, app_id, job_type)
    spec = ScheduleSpec(
        id=options["id"], job=job_type, app_id=app_id, enabled=not options["disabled"], **given
    )
    if options["dry_run"]:
        row = looked_at(spec, Schedule(created_at=now, updated_at=now, edited_at=now), now, new=True)
    else:
        row = control.create(spec, actor=operator(), now=now)
    tell(command, row, None, now, as_json=options["json"], dry_run=options["dry_run"])


def looked_at(spec: ScheduleSpec, row: Schedule, now: Any, *, new: bool) -> Schedule:
    """The row as it would be. Raises what storing it would raise for its values."""
    wanted = definition.columns(spec, now=now, standing=None if new else row)
    if new and Schedule.objects.filter(id=wanted["id"]).exists():
        raise ScheduleExists(
            f"There is a schedule {wanted['id']!r} already. Use 'schedules edit', or another id."
        )
    for name, value in wanted.items():
        setattr(row, name, value)
    return row
