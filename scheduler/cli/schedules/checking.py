"""``schedules check``."""

from __future__ import annotations

import argparse
from collections.abc import Iterator
from typing import Any

from jobsplatform.kernel.errors import PlatformError
from scheduler import definition
from scheduler.models import Schedule
from scheduler.registry import registry
from scheduler.spec import Fault
from tasks.cli import json_output
from tasks.cli.base import PlatformCommand
from tasks.cli.exits import DONE, one_line

HELP = "look at every schedule, declared and stored: exit code 1 when one cannot be"
FAULTY = 1


def add(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--code", action="store_true", help="only what code declares; needs no database")
    parser.add_argument("--json", action="store_true", help='{"ok", "declared", "stored", "faults": […]}')


def act(command: PlatformCommand, options: dict[str, Any]) -> int:
    declared = registry.all()
    faults = list(_declared())
    stored = 0
    if not options["code"]:
        for row in Schedule.objects.filter(archived_at=None).order_by("id").iterator():
            stored += 1
            faults.extend(_stored(row))
    if options["json"]:
        document = {"ok": not faults, "declared": len(declared), "stored": stored, "faults": faults}
        json_output.document(command.out, document)
    else:
        for fault in faults:
            suggestion = f" {fault['suggestion']}" if fault["suggestion"] else ""
            where = f"{fault['schedule_id']} ({fault['place']}): {fault['field']}"
            command.out.line(one_line(f"{where}: {fault['message']}{suggestion}"))
        counted = f"{len(declared):,} declared" + ("" if options["code"] else f", {stored:,} stored")
        command.out.line(f"{counted}: {f'{len(faults):,} faults.' if faults else 'all well.'}")
    return FAULTY if faults else DONE


def _declared() -> Iterator[dict[str, str]]:
    for declared in registry.all():
        for fault in definition.check(declared.spec):
            yield _output(str(declared.id), declared.place, fault)
    for clash in registry.clashes:
        fault = Fault("id", "DUPLICATE", clash.message)
        yield _output(str(clash.facts["schedule_id"]), str(clash.facts["second"]), fault)


def _stored(row: Schedule) -> Iterator[dict[str, str]]:
    """The faults of a row that somebody made here; of one of the code only that it is parked."""
    if row.source == Schedule.Source.ADMIN:
        try:
            found = definition.check(definition.read(row))
        except PlatformError as error:
            found = [Fault("id", error.code, error.message)]
        yield from (_output(row.id, "stored", fault) for fault in found)
        if found:
            return
    if row.fault:
        yield _output(row.id, "stored", Fault("schedule", "PARKED", row.fault))


def _output(schedule_id: str, place: str, fault: Fault) -> dict[str, str]:
    return {
        "schedule_id": schedule_id,
        "place": place,
        "field": fault.field,
        "code": fault.code,
        "message": fault.message,
        "suggestion": fault.suggestion,
    }
