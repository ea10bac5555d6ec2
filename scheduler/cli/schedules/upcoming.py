"""``schedules next``."""

from __future__ import annotations

import argparse
from typing import Any

from jobsplatform.kernel import clock
from jobsplatform.kernel.errors import InvalidInput
from scheduler import queries
from scheduler.cli.finding import add_schedule, add_tenant, find, tenant_of, zone_of
from scheduler.cli.outputs import expression, slot_outputs
from scheduler.cli.rows import slots_table
from scheduler.cli.sentences import pause_sentence
from scheduler.cli.times import instant
from scheduler.models import ScheduleState
from tasks.cli import arguments, json_output
from tasks.cli.base import PlatformCommand

HELP = "the next slots of a schedule"
DEFAULT_COUNT = 10


def add(parser: argparse.ArgumentParser) -> None:
    add_schedule(parser)
    add_tenant(parser)
    parser.add_argument(
        "-n", type=arguments.count, default=DEFAULT_COUNT, metavar="N", help="how many slots (default 10)"
    )
    parser.add_argument(
        "--after", metavar="TIME", help="slots after this time (ISO, +5d; without an offset in its zone)"
    )
    parser.add_argument(
        "--json",
        action="store_true",
        help='{"schedule_id", "tenant_id", "expression", "timezone", "slots": […]}',
    )


def act(command: PlatformCommand, options: dict[str, Any]) -> None:
    now = clock.now()
    schedule = find(options["id"])
    tenant_id, zone = tenant_of(schedule, options["tenant"]), zone_of(schedule)
    after = instant(options["after"], zone, now, "after") if options["after"] is not None else now
    if options["n"] > queries.MOST_SLOTS:
        raise InvalidInput(f"-n: at most {queries.MOST_SLOTS}, got {options['n']}.")
    state = ScheduleState.objects.filter(schedule_id=schedule.id, tenant_id=tenant_id).first()
    queries.with_faults(schedule, [state])
    slots: list[queries.Slot] = []
    if schedule.archived_at is None:
        skips = state.skips if state is not None else ()
        slots = queries.next_slots(schedule, options["n"], after=after, tenant_id=tenant_id, skips=skips)
    if options["json"]:
        document = {
            "schedule_id": schedule.id,
            "tenant_id": tenant_id,
            "expression": expression(schedule),
            "timezone": schedule.timezone,
            "slots": slot_outputs(slots),
        }
        json_output.document(command.out, document)
        return
    pause = queries.pauses_of([schedule.id], [tenant_id], now).of(schedule.id, tenant_id)
    if pause is not None:
        command.err.line(pause_sentence(pause, now))
    if schedule.fault:
        command.err.line(f"Faulty, it fires nothing: {schedule.fault}")
    if not slots:
        command.out.line("It is archived." if schedule.archived_at else "No slot is to come.")
        return
    for line in slots_table(command.out, slots, zone, now):
        command.out.line(line)
