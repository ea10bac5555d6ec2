"""``jobs resume``."""

from __future__ import annotations

import argparse
from typing import Any

from tasks import control
from tasks.cli import names
from tasks.cli.base import PlatformCommand
from tasks.cli.job_ids import find, id_text
from tasks.cli.jobs.each import each
from tasks.cli.operator import operator

HELP = "let paused jobs go on from their checkpoints"


def add(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("ids", nargs="+", type=id_text, metavar="ID", help="the jobs' ids")
    parser.add_argument("--json", action="store_true", help='{"jobs": [{"id": …, "status": …}]}')


def act(command: PlatformCommand, options: dict[str, Any]) -> int:
    actor = operator()

    def resume(text: str) -> tuple[dict[str, Any], str]:
        job = control.resume(find(text).id, actor=actor)
        fact = {"id": str(job.id), "status": job.state}
        return fact, f"{job.id}  {names.shown(job.handler_key)}  {job.state}"

    return each(command, options["ids"], resume, as_json=options["json"])
