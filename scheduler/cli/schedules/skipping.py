"""``schedules skip``."""

from __future__ import annotations

import argparse
from collections.abc import Callable
from datetime import datetime
from typing import Any

from jobsplatform.kernel import clock
from scheduler import control
from scheduler.cli.finding import add_schedule, add_tenant, live, tenant_of, zone_of
from scheduler.cli.times import instant, local
from tasks.cli import json_output
from tasks.cli.base import PlatformCommand
from tasks.cli.operator import operator
from tasks.cli.spans import instant as shown

HELP = "skip one slot, the next one unless another is named; 'unskip' takes it back"


NAMED = "this slot (ISO; without an offset in its zone)"


def add(parser: argparse.ArgumentParser, named: str = NAMED) -> None:
    add_schedule(parser)
    add_tenant(parser)
    parser.add_argument("--planned-at", metavar="TIME", help=named)
    parser.add_argument("--json", action="store_true", help='{"schedule_id", "tenant_id", "planned_at"}')


def act(command: PlatformCommand, options: dict[str, Any]) -> None:
    on_slot(command, options, control.skip_next, "It will skip")


def on_slot(
    command: PlatformCommand, options: dict[str, Any], verb: Callable[..., datetime], said: str
) -> None:
    """Do ``verb`` to the slot that the options name, and say which it was."""
    clock.current().sync()
    now = clock.now()
    schedule = live(options["id"])
    tenant_id, zone = tenant_of(schedule, options["tenant"]), zone_of(schedule)
    planned = options["planned_at"]
    slot = verb(
        schedule.id,
        tenant_id=tenant_id,
        planned_at=None if planned is None else instant(planned, zone, now, "planned-at"),
        actor=operator(),
    )
    if options["json"]:
        document = {
            "schedule_id": schedule.id,
            "tenant_id": tenant_id,
            "planned_at": json_output.instant(slot),
        }
        json_output.document(command.out, document)
    else:
        command.out.line(f"{said} {shown(slot)} ({local(slot, zone)}).")
