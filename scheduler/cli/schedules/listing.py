"""``schedules list``."""

from __future__ import annotations

import argparse
from typing import Any

from jobsplatform.kernel import clock
from scheduler import queries
from scheduler.cli.outputs import listed_output
from scheduler.cli.rows import schedules_table
from scheduler.models import Schedule
from scheduler.states import TriggerType
from tasks.cli import arguments, json_output, names
from tasks.cli.base import PlatformCommand

HELP = "list schedules by their ids"


def add(parser: argparse.ArgumentParser) -> None:
    add_option = parser.add_argument
    add_option("--search", default="", metavar="TEXT", help="in the id, the description or the job type")
    add_option("--type", metavar="[APP:]TYPE", help="of this job type")
    add_option(
        "--source",
        type=arguments.member("source", Schedule.Source),
        metavar="SOURCE",
        help="declared in code, or made by a person: admin",
    )
    add_option(
        "--trigger",
        type=arguments.member("trigger", TriggerType),
        metavar="KIND",
        help="cron, interval, date or manual",
    )
    add_option("--faulty", action="store_true", help="only those that are parked because of a fault")
    add_option("--archived", action="store_true", help="only archived ones, which are left out otherwise")
    add_option("--limit", type=arguments.count, default=50, metavar="N", help="how many (default 50)")
    add_option("--after", default=None, metavar="CURSOR", help="go on after the page that named this cursor")
    add_option("--json", action="store_true", help='{"schedules": […], "next": cursor or null}')


def act(command: PlatformCommand, options: dict[str, Any]) -> None:
    now = clock.now()
    app_id, job_type = None, ""
    if options["type"] is not None:
        app_id, job_type = names.split(names.job_type(options["type"], None, now))
    wanted = queries.ScheduleFilter(
        search=options["search"],
        job_type=job_type,
        app_id=app_id,
        source=options["source"] or "",
        trigger_type=options["trigger"] or "",
        faulty=True if options["faulty"] else None,
        archived=options["archived"],
    )
    page = queries.page(wanted, now=now, limit=options["limit"], after=options["after"] or "")
    if options["json"]:
        rows = [listed_output(row) for row in page.rows]
        json_output.document(command.out, {"schedules": rows, "next": page.next})
        return
    if not page.rows:
        command.err.line("No schedules.")
        return
    for line in schedules_table(command.out, page.rows, now):
        command.out.line(line)
    if page.next:
        command.err.line(f"More: --after '{page.next}'")
