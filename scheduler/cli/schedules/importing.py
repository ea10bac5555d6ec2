"""``schedules import``."""

from __future__ import annotations

import argparse
import pwd
import sys
from collections.abc import Mapping
from datetime import datetime
from enum import StrEnum
from importlib import import_module
from pathlib import Path
from typing import Any

from django.apps import apps
from django.core.management import get_commands
from django.db import transaction

from jobsplatform.kernel import clock, config
from jobsplatform.kernel.errors import InvalidInput
from scheduler.cli.import_map import mapped_by
from scheduler.cli.import_report import document, say
from scheduler.importing import crontab, from_crontab, store
from scheduler.importing.candidates import Found, Mapped
from scheduler.states import Misfire
from scheduler.timetables.zones import zone
from tasks.cli import arguments, json_output
from tasks.cli.base import PlatformCommand
from tasks.cli.exits import DONE, WRONG_USE
from tasks.cli.operator import operator

HELP = "make schedules of a crontab, or of the tables of django-celery-beat"


class Format(StrEnum):
    """Whether a crontab has a user column."""

    AUTO = "auto"
    USER = "user"
    SYSTEM = "system"


def add(parser: argparse.ArgumentParser) -> None:
    option = parser.add_argument
    option("--crontab", metavar="FILE", help="a crontab; - for stdin (crontab -l)")
    option(
        "--django-celery-beat", action="store_true", help="the rows of django-celery-beat in this database"
    )
    option("--dry-run", action="store_true", help="say what would become of each, and store nothing")
    option(
        "--map", action="append", default=[], metavar="NAME=[APP:]TYPE",
        help="the job type that stands for a command or a Celery task; '*' in NAME stands for anything; "
        "@FILE: a JSON object of them; may be repeated",
    )  # fmt: skip
    option(
        "--misfire", type=arguments.member("misfire policy", Misfire), metavar="POLICY", help=_MISFIRE_HELP
    )
    option(
        "--update", action="store_true", help="change schedules that an earlier import made and that differ"
    )
    option(
        "--timezone",
        metavar="ZONE",
        help="--crontab: the zone of its times (default CRON_TZ, else TIME_ZONE)",
    )
    option(
        "--format",
        type=arguments.member("format", Format),
        metavar="FORMAT",
        help="--crontab: user, or system with a user column",
    )
    option("--prefix", metavar="TEXT", help="--crontab: the ids begin with this (default crontab)")
    option("--take-over", action="store_true", help="--django-celery-beat: switch its rows off")
    option("--json", action="store_true", help='{"dry_run", "source", "schedules": […], "refused": […], …}')


_MISFIRE_HELP = (
    "what becomes of missed slots: skip (default of a crontab), run_once (of Beat), catch_up_limited"
)


def act(command: PlatformCommand, options: dict[str, Any]) -> int:
    _refuse_mixed(options)
    mapped = mapped_by(options["map"])
    if options["crontab"] is not None:
        source, found = _crontab(command, options, mapped)
    else:
        clock.current().sync()
        source = "django-celery-beat"
        found = _beat().schedules_of(mapped, clock.now(), misfire=options["misfire"] or "")
    if mapped.unused and not found.candidates and not found.refused:
        raise InvalidInput(f"--map {mapped.unused[0]!r} fits nothing: there is nothing to import.")
    clock.current().sync()
    now = clock.now()
    planned = store.plan(found, now, update=options["update"])
    switched_off = 0 if options["dry_run"] else _store(planned, options, now)
    still_on = 0
    if options["django_celery_beat"]:
        still_on = _beat().enabled_among(_rows(planned))
    told = document(planned, source=source, dry_run=options["dry_run"])
    told |= {"unused_maps": mapped.unused, "rows_switched_off": switched_off, "rows_still_on": still_on}
    if options["json"]:
        json_output.document(command.out, told)
    else:
        say(command, planned, told)
    return WRONG_USE if planned.refused else DONE


def _store(planned: store.Plan, options: Mapping[str, Any], now: datetime) -> int:
    """All of it in one transaction; how many rows of Beat were switched off."""
    with transaction.atomic():
        store.carry_out(planned, actor=operator(), now=now)
        return int(_beat().take_over(_rows(planned))) if options["take_over"] else 0


def _rows(planned: store.Plan) -> list[int]:
    """The rows of Beat that have a schedule here, in force or about to be."""
    standing = planned.of(store.Verdict.CREATED, store.Verdict.UPDATED, store.Verdict.UNCHANGED)
    return [outcome.candidate.row for outcome in standing if outcome.candidate.row is not None]


def _beat() -> Any:
    """What reads the rows of Beat. By name: it cannot be loaded where their app is not installed."""
    if not apps.is_installed("django_celery_beat"):
        raise InvalidInput("django-celery-beat is not installed here, so it has no rows to import.")
    return import_module("scheduler.importing.django_celery_beat")


def _refuse_mixed(options: Mapping[str, Any]) -> None:
    if options["crontab"] is not None and options["django_celery_beat"]:
        raise InvalidInput("--crontab and --django-celery-beat exclude each other: say one of them.")
    if options["crontab"] is None and not options["django_celery_beat"]:
        raise InvalidInput("Say what to import: --crontab FILE, or --django-celery-beat.")
    foreign = ("timezone", "format", "prefix") if options["django_celery_beat"] else ("take_over",)
    for name in foreign:
        if options[name]:
            other = "--django-celery-beat" if options["django_celery_beat"] else "--crontab"
            raise InvalidInput(f"--{name.replace('_', '-')} does not go with {other}.")


def _crontab(command: PlatformCommand, options: Mapping[str, Any], mapped: Mapped) -> tuple[str, Found]:
    name = options["crontab"]
    text = _text(name)
    given = options["timezone"]
    default = zone(given if given is not None else config.get().time_zone).key
    form = options["format"] or "auto"
    system = form == "system" or (form == "auto" and _is_system(name, text))
    read = crontab.read(text, timezone=default, system=system, zone_is_sure=given is not None)
    found = from_crontab.schedules_of(
        read,
        mapped,
        prefix=options["prefix"] or "crontab",
        misfire=options["misfire"] or "",
        allowed=config.get().tasks.allowed_commands,
        known=get_commands(),
    )
    form = "system crontab, with a user column" if system else "crontab of a user"
    command.err.line(f"Read as a {form}, its times in {default} unless CRON_TZ says otherwise.")
    return "crontab", found


def _text(name: str) -> str:
    try:
        raw = sys.stdin.buffer.read(crontab.MAX_BYTES + 1) if name == "-" else _file(name)
        text = raw.decode()
    except OSError as error:
        raise InvalidInput(f"The file {name!r} cannot be read: {error.strerror}.") from None
    except UnicodeDecodeError:
        raise InvalidInput(f"The crontab {name!r} is not UTF-8 text.") from None
    if len(raw) > crontab.MAX_BYTES:
        raise InvalidInput(f"The crontab {name!r} is longer than {crontab.MAX_BYTES:,} bytes.")
    if "\0" in text:
        raise InvalidInput(f"The crontab {name!r} holds NUL characters: it is no text.")
    return text


def _file(name: str) -> bytes:
    with Path(name).open("rb") as file:
        return file.read(crontab.MAX_BYTES + 1)


def _is_system(name: str, text: str) -> bool:
    """Whether there is a user column: by where the file lies, else by whether accounts of this machine stand there."""
    path = Path(name).absolute()
    if path == Path("/etc/crontab") or path.parent.name == "cron.d":
        return True
    return crontab.looks_like_system(text, {account.pw_name for account in pwd.getpwall()})
