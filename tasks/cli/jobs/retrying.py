"""``jobs retry``."""

from __future__ import annotations

import argparse
from typing import Any

from tasks import control
from tasks.cli import names
from tasks.cli.base import PlatformCommand
from tasks.cli.job_ids import find, id_text
from tasks.cli.jobs.each import each
from tasks.cli.operator import operator

HELP = "run failed or cancelled jobs again, with all their attempts"


def add(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("ids", nargs="+", type=id_text, metavar="ID", help="the jobs' ids")
    parser.add_argument("--json", action="store_true", help='{"jobs": [{"id": …, "job_id": …, "status": …}]}')


def act(command: PlatformCommand, options: dict[str, Any]) -> int:
    actor = operator()

    def retry(text: str) -> tuple[dict[str, Any], str]:
        job = find(text)
        made = control.retry(job.id, actor=actor)
        # An alias is not revived: its retry is a new job.
        status = getattr(made, "state", None) or getattr(made, "status", "")
        fact = {"id": str(job.id), "job_id": str(made.id), "status": str(status)}
        what = "pending again" if made.id == job.id else f"made again as {made.id}"
        return fact, f"{job.id}  {names.shown(job.handler_key)}  {what}"

    return each(command, options["ids"], retry, as_json=options["json"])
