"""``schedules run``."""

from __future__ import annotations

import argparse
from typing import Any
from uuid import UUID

from jobsplatform.kernel import clock
from jobsplatform.kernel.errors import InvalidInput
from jobsplatform.kernel.ids import uuid7
from scheduler import control
from scheduler.cli.finding import add_schedule, add_tenant, live, tenant_of, zone_of
from scheduler.cli.times import instant
from scheduler.models import Schedule
from scheduler.requests import ScheduleTriggerResult
from tasks import registry
from tasks.cli import arguments, json_output
from tasks.cli import params as param_options
from tasks.cli.base import PlatformCommand
from tasks.cli.broker_note import broker_note
from tasks.cli.exits import DONE, JOB_FAILED
from tasks.cli.jobs.waiting import wait_for
from tasks.cli.operator import operator

HELP = "run a schedule's job now, also while it is paused"


def add(parser: argparse.ArgumentParser) -> None:
    add_schedule(parser)
    add_tenant(parser)
    option = parser.add_argument
    option("--planned-at", metavar="TIME", help="this slot, instead of a run without one (ISO)")
    option("--key", metavar="KEY", help="a repeated call with this key makes no second job")
    option(
        "--param", "-p", action="append", default=[], metavar="NAME=VALUE",
        help="a param instead of the schedule's; NAME:=JSON for raw JSON; may be repeated",
    )  # fmt: skip
    option("--params", metavar="JSON|@FILE|-", help="all params instead of the schedule's, as a JSON object")
    option("--force", action="store_true", help="an unfinished job of an exclusive type does not stop it")
    option("--wait", action="store_true", help="follow its job to the end: exit code 0 completed, 1 not")
    option(
        "--timeout", type=arguments.seconds, metavar="TIME", help="with --wait: at most this long, else 124"
    )
    option("--json", action="store_true", help="the result of the trigger; with --wait a JobOutput")


def act(command: PlatformCommand, options: dict[str, Any]) -> int:
    if options["timeout"] is not None and not options["wait"]:
        raise InvalidInput("--timeout goes with --wait.")
    if options["planned_at"] is not None and options["key"] is not None:
        raise InvalidInput("--planned-at and --key exclude each other: a slot is its own key.")
    clock.current().sync()
    now = clock.now()
    schedule = live(options["id"])
    planned = options["planned_at"]
    result = control.run_now(
        schedule.id,
        tenant_id=tenant_of(schedule, options["tenant"]),
        key=options["key"] or str(uuid7()),
        params=_params(schedule, options),
        force=options["force"],
        actor=operator(),
        planned_at=None if planned is None else instant(planned, zone_of(schedule), now, "planned-at"),
    )
    _say(command, options, result)
    if not result.ok:
        return JOB_FAILED
    note = "" if options["wait"] else broker_note()
    if note:
        command.err.line(note)
    if not options["wait"] or not result.task_id:
        return DONE
    job_id = UUID(result.task_id)
    return wait_for(command, [job_id], timeout=options["timeout"], as_json=options["json"], single=True)


def _params(schedule: Schedule, options: dict[str, Any]) -> dict[str, Any] | None:
    """The schedule's params with what was said over them; None when nothing was said."""
    if not options["param"] and options["params"] is None:
        return None
    schema = registry.get(schedule.app_id, schedule.job_type).schema.json_schema()
    given = param_options.gather(options["params"], options["param"], schema)
    return given if options["params"] is not None else {**schedule.params, **given}


def _say(command: PlatformCommand, options: dict[str, Any], result: ScheduleTriggerResult) -> None:
    if result.replayed:
        command.err.line("This was decided before: here is what was decided then.")
    if options["json"]:
        if not options["wait"] or not result.task_id:
            json_output.document(command.out, result.as_dict())
        return
    if result.task_id:
        command.out.line(result.task_id)
    else:
        command.err.line(f"No job was made: {result.error or result.reason or result.status}")
