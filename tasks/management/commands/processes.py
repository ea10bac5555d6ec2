"""``manage.py processes``: who is alive."""

from __future__ import annotations

from datetime import datetime, timedelta
from typing import Any
from uuid import UUID

from django.core.management.base import CommandParser
from django.db.models import Count

from jobsplatform.kernel import clock, config
from jobsplatform.kernel.models import Process
from tasks.cli import json_output
from tasks.cli.base import PlatformCommand
from tasks.cli.spans import age
from tasks.cli.tables import Column, table
from tasks.models import Job
from tasks.states import IN_FLIGHT

_COLOURS = {"live": "green", "draining": "yellow", "silent": "red", "lost": "red", "stopped": "dim"}


class Command(PlatformCommand):
    quiet = True
    help = "List the platform's processes: live ones and those that went silent; with --all also ended ones."

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument(
            "--all", action="store_true", help="also those that stopped or were declared lost"
        )
        parser.add_argument("--json", action="store_true", help='{"processes": […]}')

    def act(self, options: dict[str, Any]) -> None:
        clock.current().sync()
        now = clock.now()
        rows = Process.objects.order_by("role", "name", "started_at")
        if not options["all"]:
            rows = rows.filter(stopped_at=None, lost_at=None)
        busy = busy_slots()
        if options["json"]:
            found = [output(row, busy.get(row.id, 0), now) for row in rows]
            json_output.document(self.out, {"processes": found})
            return
        if not rows:
            self.out.line("No live processes: nothing runs jobs. Start one with 'manage.py runplatform'.")
            return
        columns = [
            Column("ROLE"),
            Column("NAME", shrinks=True),
            Column("HOST", shrinks=True),
            Column("PID", right=True),
            Column("STATE", colour=lambda text: _COLOURS.get(text, "")),
            Column("BEAT", right=True),
            Column("BUSY", right=True),
            Column("QUEUES", shrinks=True),
        ]
        for line in table(self.out, columns, [_row(row, busy.get(row.id, 0), now) for row in rows]):
            self.out.line(line)


def busy_slots() -> dict[UUID, int]:
    """Process id -> jobs that it was given and has not ended."""
    counted = (
        Job.objects.filter(state__in=IN_FLIGHT).order_by().values_list("worker_id").annotate(Count("id"))
    )
    return {worker_id: count for worker_id, count in counted}


def condition(process: Process, now: datetime) -> str:
    """``live``, ``draining``, ``silent`` (no heartbeat for a lease), ``lost`` or ``stopped``."""
    if process.stopped_at is not None:
        return "stopped"
    if process.lost_at is not None:
        return "lost"
    if process.heartbeat_at <= now - timedelta(seconds=config.get().tasks.lease_seconds):
        return "silent"
    return "draining" if process.stopping else "live"


def _row(process: Process, busy: int, now: datetime) -> list[object]:
    slots = f"{busy + process.busy_threads}/{process.concurrency}" if process.concurrency else ""
    return [
        process.role,
        process.name,
        process.host,
        process.pid,
        condition(process, now),
        age(process.heartbeat_at, now),
        slots,
        ", ".join(process.queues),
    ]


def output(process: Process, busy: int, now: datetime) -> dict[str, Any]:
    """A process as JSON."""
    return {
        "id": str(process.id),
        "role": process.role,
        "name": process.name,
        "app_id": process.app_id,
        "host": process.host,
        "pid": process.pid,
        "version": process.version,
        "state": condition(process, now),
        "heartbeat_age_seconds": round((now - process.heartbeat_at).total_seconds(), 3),
        "started_at": json_output.instant(process.started_at),
        "stopped_at": json_output.instant(process.stopped_at),
        "lost_at": json_output.instant(process.lost_at),
        "slots": process.concurrency,
        "busy": busy,
        "stuck_threads": process.busy_threads,
        "queues": process.queues,
        "handlers": process.handlers,
        "capabilities": process.capabilities,
    }
