"""``jobs show``."""

from __future__ import annotations

import argparse
import json
from datetime import datetime
from typing import Any

from jobsplatform.kernel import clock
from tasks import queries, why
from tasks.cli import json_output
from tasks.cli.base import PlatformCommand
from tasks.cli.following import reading
from tasks.cli.job_ids import find, id_text
from tasks.cli.job_rows import job_facts, state_colour
from tasks.cli.results import result_lines
from tasks.cli.spans import instant, length
from tasks.cli.tables import Column, facts, table
from tasks.cli.terminal import Terminal
from tasks.cli.text import plain, printable
from tasks.models import Job, JobAttempt
from tasks.output import job_output
from tasks.states import FINAL, State

HELP = "show one job: facts, why it does not run, attempts, children, aliases"
MAX_ATTEMPTS = 50
MAX_ALIASES = 20
MAX_JSON = 4000


def add(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("id", type=id_text, metavar="ID", help="the job's id")
    parser.add_argument(
        "--json",
        action="store_true",
        help='a JobOutput with "why_not_running", "attempts", "children" and "aliases"',
    )


def act(command: PlatformCommand, options: dict[str, Any]) -> None:
    clock.current().sync()
    now = clock.now()
    job = find(options["id"])
    attempts = list(job.attempts.order_by("-lease")[:MAX_ATTEMPTS])[::-1]
    aliases = list(job.aliases.order_by("id").values_list("id", "state")[:MAX_ALIASES])
    children = queries.children_summary(job.id)
    running = job.state in FINAL or job.state == State.RUNNING
    reason = "" if running else why.why_not_running(job, now)
    if options["json"]:
        more = {
            "why_not_running": reason or None,
            "attempts": [attempt_output(attempt) for attempt in attempts],
            "children": children,
            "aliases": [{"id": str(alias_id), "status": state} for alias_id, state in aliases],
        }
        json_output.document(command.out, {**job_output(job), **more})
        return
    for line in _lines(command.out, job, now, reason):
        command.out.line(line)
    if attempts:
        _attempts(command.out, attempts)
    if children.get("total"):
        states = ", ".join(f"{children[state]} {state}" for state in State if children.get(state))
        command.out.line(f"\nchildren  {children['done']} of {children['total']} ended ({states})")
    if aliases:
        command.out.line(f"\naliases   {', '.join(f'{alias_id} ({state})' for alias_id, state in aliases)}")


def attempt_output(attempt: JobAttempt) -> dict[str, Any]:
    """One attempt as JSON."""
    return {
        "number": attempt.number,
        "lease": attempt.lease,
        "outcome": attempt.outcome,
        "reason": attempt.reason,
        "cause": attempt.cause,
        "worker": attempt.worker,
        "started_at": attempt.started_at,
        "finished_at": attempt.finished_at,
        "count": attempt.count,
        "error_type": attempt.error_type,
        "error": attempt.error,
        "traceback": attempt.traceback,
    }


def _lines(terminal: Terminal, job: Job, now: datetime, reason: str) -> list[str]:
    shown = queries.shown_job(job)
    lines = facts(
        {**job_facts(job, now), "progress": "" if shown.progress_done is None else reading(job).text()}
    )
    if reason:
        lines += ["", terminal.paint(f"Not running: {plain(reason)}", "yellow")]
    for title, value in (("params", job.params), ("data", shown.data), ("checkpoint", shown.checkpoint)):
        if value:
            lines.append(f"{title}  {printable(json.dumps(value, ensure_ascii=False))[:MAX_JSON]}")
    if shown.error:
        lines += ["", terminal.paint("error", "bold"), printable(shown.error)]
    if shown.result is not None:
        found = result_lines(terminal.inset(2), shown.result)
        lines += ["", terminal.paint("result", "bold"), *(f"  {line}".rstrip() for line in found)]
    return lines


def _attempts(terminal: Terminal, attempts: list[JobAttempt]) -> None:
    columns = [
        Column("TRY", right=True),
        Column("LEASE", right=True),
        Column("ENDED BY", colour=state_colour),
        Column("STARTED"),
        Column("RAN", right=True),
        Column("WHY", shrinks=True),
    ]
    rows = [
        [
            attempt.number,
            attempt.lease,
            attempt.outcome,
            instant(attempt.started_at)[:19],
            length((attempt.finished_at - attempt.started_at).total_seconds()),
            attempt.error or attempt.reason or attempt.cause,
        ]
        for attempt in attempts
    ]
    terminal.line()
    for line in table(terminal, columns, rows):
        terminal.line(line)
    trace = next((attempt.traceback for attempt in reversed(attempts) if attempt.traceback), "")
    if trace:
        terminal.line("\n" + terminal.paint("last traceback", "bold"))
        terminal.line(printable(trace))
