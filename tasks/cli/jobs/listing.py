"""``jobs list``."""

from __future__ import annotations

import argparse
from typing import Any

from jobsplatform.kernel import clock
from tasks import queries
from tasks.cli import arguments, json_output
from tasks.cli.base import PlatformCommand
from tasks.cli.filter_options import add_filter_options, chosen
from tasks.cli.job_rows import jobs_table
from tasks.output import job_output

HELP = "list jobs, newest first"


def add(parser: argparse.ArgumentParser) -> None:
    add_filter_options(parser)
    parser.add_argument(
        "--limit", type=arguments.count, default=50, metavar="N", help="how many (default 50)"
    )
    parser.add_argument("--after", metavar="CURSOR", help="go on after the page that named this cursor")
    parser.add_argument(
        "--json", action="store_true", help='{"jobs": [JobOutput, …], "next": cursor or null}'
    )


def act(command: PlatformCommand, options: dict[str, Any]) -> None:
    now = clock.now()
    page = queries.page(
        chosen(options, now), limit=options["limit"], after=options["after"], payload=options["json"]
    )
    if options["json"]:
        jobs = [job_output(job) for job in page.jobs]
        json_output.document(command.out, {"jobs": jobs, "next": page.next})
        return
    if not page.jobs:
        command.err.line("No jobs.")
        return
    for line in jobs_table(command.out, page.jobs, now):
        command.out.line(line)
    if page.next:
        command.err.line(f"More: --after {page.next}")
