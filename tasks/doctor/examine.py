"""All checks, in the order in which they make sense of each other."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from datetime import datetime

from django.apps import apps
from django.db import DatabaseError, InterfaceError
from django.utils.module_loading import import_string

from jobsplatform.kernel import clock
from tasks.doctor.backlog import check_queues, check_suspensions
from tasks.doctor.broker import check_broker
from tasks.doctor.database import check_clock, check_database, check_migrations
from tasks.doctor.finding import Check, Finding, Level, fault
from tasks.doctor.orphans import check_orphans
from tasks.doctor.schema import check_schema
from tasks.doctor.settings import check_settings
from tasks.doctor.storage import check_storage
from tasks.doctor.workers import check_silent, check_workers

# These need the tables, so they are asked only once the tables are known to be there.
_ROWS: Sequence[tuple[str, Check]] = (
    ("schema", check_schema),
    ("storage", check_storage),
    ("processes", check_silent),
    ("workers", check_workers),
    ("queues", check_queues),
    ("suspensions", check_suspensions),
    ("orphans", check_orphans),
)


def examine() -> Iterator[Finding]:
    """Every finding, as it is made. What lies behind something unreachable is not looked at."""
    machine = clock.SystemClock().now()
    yield from check_settings(machine)
    yield from check_broker(machine)
    database = list(check_database(machine))
    yield from database
    if any(finding.level is Level.UNREACHABLE for finding in database):
        return
    yield from _guarded("clock", check_clock, machine)
    migrations = list(_guarded("migrations", check_migrations, machine))
    yield from migrations
    if any(finding.level is Level.FAULT for finding in migrations):
        return
    clock.current().sync()
    now = clock.now()
    for name, check in (*_ROWS, *_of_other_apps()):
        yield from _guarded(name, check, now)


def _of_other_apps() -> Iterator[tuple[str, Check]]:
    """An app names its checks in the attribute ``doctor_checks`` of its AppConfig: name and dotted path."""
    for app in apps.get_app_configs():
        for name, path in getattr(app, "doctor_checks", {}).items():
            yield name, import_string(path)


def _guarded(name: str, check: Check, now: datetime) -> Iterator[Finding]:
    """A check whose question the database refuses is a finding, not the end of the report."""
    try:
        yield from list(check(now))
    except (DatabaseError, InterfaceError) as error:
        text = " ".join(str(error).split())
        yield fault(
            name, f"The database refused to tell: {text}", "Look at the rights of its user and its log."
        )
