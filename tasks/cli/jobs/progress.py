"""``jobs progress``."""

from __future__ import annotations

import argparse
from typing import Any

from tasks import queries
from tasks.cli import json_output, names
from tasks.cli.base import PlatformCommand
from tasks.cli.following import reading
from tasks.cli.job_ids import find, id_text
from tasks.cli.text import plain
from tasks.output import job_output
from tasks.states import State

HELP = "say how far a job and its children are"


def add(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("id", type=id_text, metavar="ID", help="the job's id")
    parser.add_argument(
        "--json", action="store_true", help='{"id": …, "status": …, "progress": …, "children": …}'
    )


def act(command: PlatformCommand, options: dict[str, Any]) -> None:
    job = find(options["id"])
    children = queries.children_summary(job.id)
    if options["json"]:
        shown = job_output(job, payload=False)
        answer = {
            "id": shown["id"],
            "status": shown["status"],
            "progress": shown["progress"],
            "children": children,
        }
        json_output.document(command.out, answer)
        return
    command.out.line(f"{plain(names.shown(job.handler_key))}: {reading(job).text()}")
    if children.get("total"):
        states = ", ".join(f"{children[state]} {state}" for state in State if children.get(state))
        command.out.line(f"children: {children['done']} of {children['total']} ended ({states})")
