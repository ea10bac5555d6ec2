"""``schedules export``."""

from __future__ import annotations

import argparse
from dataclasses import asdict
from typing import Any

from jobsplatform.kernel import clock
from jobsplatform.kernel.errors import InvalidInput
from scheduler.providers import CeleryBeatScheduleProvider, chain
from tasks.cli import json_output
from tasks.cli.base import PlatformCommand
from tasks.cli.exits import DONE

HELP = "write rows by which django-celery-beat's own scheduler hints at our slots"


def add(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "--django-celery-beat", action="store_true", help="where to: periodic tasks of django-celery-beat"
    )
    parser.add_argument("--json", action="store_true", help='{"created", "updated", "removed", "unchanged"}')


def act(command: PlatformCommand, options: dict[str, Any]) -> int:
    if not options["django_celery_beat"]:
        raise InvalidInput("Say where to: --django-celery-beat.")
    clock.current().sync()
    result = CeleryBeatScheduleProvider(chain()).export_rows(clock.now())
    if options["json"]:
        json_output.document(command.out, asdict(result))
        return DONE
    for name in ("created", "updated", "removed"):
        for row in getattr(result, name):
            command.out.line(f"{name}  {row}")
    command.out.line(f"{result.unchanged:,} unchanged.")
    return DONE
