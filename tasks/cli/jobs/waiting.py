"""``jobs wait``, and the waiting of ``jobs enqueue --wait``."""

from __future__ import annotations

import argparse
from collections.abc import Sequence
from typing import Any
from uuid import UUID

from jobsplatform.kernel import clock
from tasks import queries
from tasks.cli import arguments, json_output
from tasks.cli.base import PlatformCommand
from tasks.cli.endings import exit_code, interrupted, not_in_time, summary
from tasks.cli.following import follow
from tasks.cli.job_ids import id_text, identify
from tasks.output import job_output

HELP = "follow jobs to their end: exit code 0 when all completed, 1 when one failed or was cancelled"


def add(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("ids", nargs="+", type=id_text, metavar="ID", help="the jobs' ids")
    parser.add_argument(
        "--timeout",
        type=arguments.seconds,
        metavar="TIME",
        help="at most this long (90s, 5m), else exit code 124",
    )
    parser.add_argument("--json", action="store_true", help='{"jobs": [JobOutput, …]} once all have ended')


def act(command: PlatformCommand, options: dict[str, Any]) -> int:
    ids = list(dict.fromkeys(identify(text) for text in options["ids"]))
    return wait_for(command, ids, timeout=options["timeout"], as_json=options["json"])


def wait_for(
    command: PlatformCommand,
    ids: Sequence[UUID],
    *,
    timeout: float | None,
    as_json: bool,
    single: bool = False,
) -> int:
    """Follow each job to its end and say how it ended; the exit code. Ctrl-C ends the waiting, not the jobs.

    ``single``: the JSON is one JobOutput, not a list in an object. After ``timeout`` seconds it shows
    the jobs as they are.
    """
    started = clock.monotonic()
    worst = 0
    try:
        for job_id in ids:
            left = None if timeout is None else max(0.0, timeout - (clock.monotonic() - started))
            job = follow(command.err, job_id, timeout=left)
            if job is None:
                worst = not_in_time(command.err, command.program, queries.get_job(job_id), timeout or 0.0)
                break
            worst = max(worst, exit_code(job))
            if not as_json:
                for line in summary(command.out, job):
                    command.out.line(line)
    except KeyboardInterrupt:
        return interrupted(command.err, command.program, list(ids))
    if as_json:
        outputs = [job_output(queries.get_job(job_id)) for job_id in ids]
        json_output.document(command.out, outputs[0] if single else {"jobs": outputs})
    return worst
