"""``schedules backfill``."""

from __future__ import annotations

import argparse
from typing import Any

from jobsplatform.kernel import clock
from jobsplatform.kernel.errors import InvalidInput
from scheduler import backfill
from scheduler.cli.finding import add_tenant, live, zone_of
from scheduler.cli.outputs import backfill_output
from scheduler.cli.rows import backfills_table
from scheduler.cli.times import instant
from scheduler.models import Backfill
from tasks.cli import arguments, json_output
from tasks.cli.base import PlatformCommand
from tasks.cli.confirm import confirmed
from tasks.cli.operator import operator
from tasks.cli.spans import instant as shown
from tasks.cli.tables import Column, table

HELP = "run slots of the past (again): those that did not fire, that failed, or all of a range"
LISTED = 50
_RANGE = ("after", "until", "mode", "tenant", "concurrency")


def add(parser: argparse.ArgumentParser) -> None:
    option = parser.add_argument
    option("id", nargs="?", metavar="ID", help="the schedule's id")
    option("--after", metavar="TIME", help="slots after this time, itself left out (ISO, or 2d)")
    option("--until", metavar="TIME", help="up to this time, itself included (default now)")
    option(
        "--mode",
        type=arguments.member("mode", Backfill.Mode),
        metavar="MODE",
        help="missing (default): slots that did not fire; failed: whose job did not complete; all",
    )
    option("--concurrency", type=arguments.count, metavar="N", help="its jobs at once (default 1)")
    add_tenant(parser)
    option("--dry-run", action="store_true", help="say which slots it would run and why, and store nothing")
    option("--list", action="store_true", help="list backfills, newest first; with ID, of this schedule")
    option("--cancel", metavar="BACKFILL", help="begin no further slot of this backfill")
    option("--yes", "-y", action="store_true", help="do not ask")
    option(
        "--json",
        action="store_true",
        help='a backfill; --dry-run: {"total", "slots"}; --list: {"backfills": […]}',
    )


def act(command: PlatformCommand, options: dict[str, Any]) -> None:
    if options["list"] or options["cancel"] is not None:
        given = [name for name in (*_RANGE, "dry_run") if options[name]]
        if given or (options["list"] and options["cancel"] is not None):
            other = given[0].replace("_", "-") if given else "cancel"
            raise InvalidInput(f"--{'list' if options['list'] else 'cancel'} does not go with --{other}.")
        _list(command, options) if options["list"] else _cancel(command, options)
        return
    if options["id"] is None or options["after"] is None:
        raise InvalidInput(
            "Say which schedule and from when: backfill ID --after TIME. Or --list, or --cancel."
        )
    clock.current().sync()
    now = clock.now()
    schedule = live(options["id"])
    zone = zone_of(schedule)
    after = instant(options["after"], zone, now, "after", past=True)
    until = now if options["until"] is None else instant(options["until"], zone, now, "until", past=True)
    wanted = (schedule.id, after, until, options["mode"] or Backfill.Mode.MISSING, options["tenant"] or "")
    if options["dry_run"]:
        _preview(command, backfill.preview(*wanted, now=now), as_json=options["json"])
        return
    if not options["yes"] and not options["json"]:
        look = backfill.preview(*wanted, now=now)
        first = f" of the first {len(look.slots):,}" if look.total > len(look.slots) else ""
        confirmed(command, f"Run {look.runs:,}{first} of {look.total:,} slots of {schedule.id!r}?")
    row = backfill.start(*wanted, actor=operator(), concurrency=options["concurrency"] or 1, now=now)
    if options["json"]:
        json_output.document(command.out, _output(row))
    else:
        command.out.line(str(row.id))
        command.err.line(f"{row.total:,} slots; 'schedules backfill --list' shows how far it is.")


def _output(row: Backfill) -> dict[str, Any]:
    return {**backfill_output(row), **backfill.progress(row).as_dict()}


def _preview(command: PlatformCommand, look: backfill.Preview, *, as_json: bool) -> None:
    if as_json:
        slots = [
            {"planned_at": json_output.instant(choice.planned_at), "run": choice.run, "reason": choice.reason}
            for choice in look.slots
        ]
        json_output.document(command.out, {"total": look.total, "slots": slots})
        return
    columns = [Column("SLOT"), Column("RUNS", colour=_green), Column("WHY", shrinks=True)]
    rows = [[shown(choice.planned_at), "yes" if choice.run else "no", choice.reason] for choice in look.slots]
    for line in table(command.out, columns, rows):
        command.out.line(line)
    more = look.total - len(look.slots)
    command.err.line(
        f"{look.runs:,} would run.{f' {more:,} more slots are not looked at here.' if more else ''}"
    )


def _green(word: str) -> str:
    return "green" if word == "yes" else "dim"


def _list(command: PlatformCommand, options: dict[str, Any]) -> None:
    rows = Backfill.objects.order_by("-id")
    if options["id"] is not None:
        rows = rows.filter(schedule_id=live(options["id"]).id)
    found = list(rows[:LISTED])
    if options["json"]:
        json_output.document(command.out, {"backfills": [_output(row) for row in found]})
    elif not found:
        command.err.line("No backfills.")
    else:
        progress = {row.id: backfill.progress(row) for row in found}
        for line in backfills_table(command.out, found, progress):
            command.out.line(line)


def _cancel(command: PlatformCommand, options: dict[str, Any]) -> None:
    clock.current().sync()
    ended = backfill.find(options["cancel"]).state != Backfill.State.RUNNING
    row = backfill.cancel(options["cancel"], actor=operator(), now=clock.now())
    if options["json"]:
        json_output.document(command.out, _output(row))
    elif ended:
        command.out.line(f"It had ended: {row.state}.")
    else:
        command.out.line(f"Cancelled: {row.id}. Jobs that it has made go on.")
