"""``jobs cancel``."""

from __future__ import annotations

import argparse
from typing import Any

from jobsplatform.kernel import clock
from jobsplatform.kernel.errors import InvalidInput
from tasks import control, queries
from tasks.cli import json_output, names
from tasks.cli.base import PlatformCommand
from tasks.cli.confirm import confirmed
from tasks.cli.exits import DONE
from tasks.cli.filter_options import add_filter_options, any_given, chosen
from tasks.cli.job_ids import find, id_text
from tasks.cli.jobs.each import each
from tasks.cli.operator import operator
from tasks.filters import JobFilter
from tasks.states import FINAL

HELP = "cancel jobs by id, with their children, or all that a filter finds"
_HOW = {
    "cancelled": "cancelled",
    "requested": "asked to stop; it ends at its next check, or is killed after its grace time",
    "already_requested": "had been asked to stop before",
    "already_ended": "had already ended",
}


def add(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("ids", nargs="*", type=id_text, metavar="ID", help="the jobs' ids")
    parser.add_argument("--no-children", action="store_true", help="leave the children of named jobs alone")
    parser.add_argument(
        "--dry-run", action="store_true", help="say what would be cancelled, and cancel nothing"
    )
    parser.add_argument("--yes", "-y", action="store_true", help="do not ask (by filter)")
    parser.add_argument(
        "--json", action="store_true", help='{"jobs": […]} by id, {"count": N, "dry_run": …} by filter'
    )
    add_filter_options(parser)


def act(command: PlatformCommand, options: dict[str, Any]) -> int:
    if bool(options["ids"]) == any_given(options):
        raise InvalidInput("Name either job ids or a filter ('jobs cancel --help' lists its options).")
    if not options["ids"]:
        return _by_filter(command, options)
    actor, cascade = operator(), not options["no_children"]

    def cancel(text: str) -> tuple[dict[str, Any], str]:
        job = find(text)
        if options["dry_run"]:
            how = "already_ended" if job.state in FINAL else "would_cancel"
            return {"id": str(job.id), "how": how, "status": job.state}, f"{job.id}  {how.replace('_', ' ')}"
        result = control.cancel(job.id, actor=actor, cascade=cascade)
        fact = {"id": str(job.id), "how": result.how, "status": result.job.state, "children": result.children}
        children = f", and {result.children} of its children" if result.children else ""
        how = _HOW.get(result.how, result.how)
        return fact, f"{job.id}  {names.shown(job.handler_key)}  {how}{children}"

    return each(command, options["ids"], cancel, as_json=options["json"])


def _by_filter(command: PlatformCommand, options: dict[str, Any]) -> int:
    wanted = chosen(options, clock.now())
    if not options["yes"] and not options["dry_run"]:
        _ask(command, wanted)
    count = control.cancel_by_filter(wanted, actor=operator(), dry_run=options["dry_run"])
    if options["json"]:
        json_output.document(command.out, {"count": count, "dry_run": options["dry_run"]})
    else:
        words = "would be cancelled" if options["dry_run"] else "cancelled or asked to stop"
        command.out.line(f"{count:,} {'job' if count == 1 else 'jobs'} {words}.")
    return DONE


def _ask(command: PlatformCommand, wanted: JobFilter) -> None:
    """Nothing needs no yes."""
    count, exact = queries.count_capped(wanted.queryset().exclude(state__in=FINAL))
    if count:
        confirmed(command, f"Cancel {count:,}{'' if exact else ' or more'} jobs?")
