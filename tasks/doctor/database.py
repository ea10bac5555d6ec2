"""The database: does it answer, is it migrated, does its clock agree with this machine's."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import UTC, datetime, timedelta

from django.db import DatabaseError, InterfaceError, connection
from django.db.migrations.executor import MigrationExecutor

from jobsplatform.kernel.clock import Clock, SystemClock
from tasks.doctor.finding import Finding, fault, ok, unreachable, warning

POSTGRES_NEEDED = 140_000
SKEW_WARNING = timedelta(seconds=2)
SKEW_FAULT = timedelta(seconds=60)


def check_database(_: datetime) -> Iterator[Finding]:
    """Whether it answers, and its version."""
    try:
        with connection.cursor() as cursor:
            cursor.execute("SELECT 1")
            cursor.fetchone()
        version = _version()
    except (DatabaseError, InterfaceError) as error:
        text = " ".join(str(error).split())
        yield unreachable(
            "database", f"It does not answer: {text}", "Look at DATABASE_URL, and whether the server runs."
        )
        return
    if connection.vendor == "postgresql" and connection.pg_version < POSTGRES_NEEDED:
        yield fault("database", f"{version} is too old.", "Use PostgreSQL 14 or newer.", version=version)
    else:
        yield ok("database", version, version=version)


def _version() -> str:
    if connection.vendor == "postgresql":
        major, minor = divmod(connection.pg_version, 10_000)
        return f"PostgreSQL {major}.{minor}"
    return f"SQLite {'.'.join(map(str, connection.Database.sqlite_version_info))}"


def check_migrations(_: datetime) -> Iterator[Finding]:
    """Whether the tables are those of this release."""
    executor = MigrationExecutor(connection)
    loader = executor.loader
    missing = [
        f"{step.app_label}.{step.name}" for step, _ in executor.migration_plan(loader.graph.leaf_nodes())
    ]
    known_apps = {app_label for app_label, _ in loader.disk_migrations}
    newer = sorted(
        f"{app_label}.{name}"
        for app_label, name in loader.applied_migrations
        if app_label in known_apps and (app_label, name) not in loader.disk_migrations
        and not any((app_label, name) in step.replaces for step in loader.disk_migrations.values())
    )  # fmt: skip
    if missing:
        shown = ", ".join(missing[:3]) + (", …" if len(missing) > 3 else "")
        text = f"{len(missing)} not applied: {shown}."
        yield fault("migrations", text, "Run 'manage.py migrate'.", missing=missing)
    elif newer:
        text = f"The database is ahead of this release: {', '.join(newer[:3])}."
        yield warning(
            "migrations", text, "Use the release that made them, or restore what fits this one.", newer=newer
        )
    else:
        yield ok("migrations", "All are applied.")


def check_clock(_: datetime) -> Iterator[Finding]:
    """The database's clock against this machine's."""
    yield compare_clocks(SystemClock())


def compare_clocks(machine: Clock) -> Finding:
    """How far ``machine`` is from the database's clock, which is the truth for due times and leases."""
    if connection.vendor != "postgresql":
        return ok("clock", "The database is on this machine: one clock.")
    before = machine.now()
    with connection.cursor() as cursor:
        cursor.execute("SELECT clock_timestamp()")
        told: datetime = cursor.fetchone()[0]
    middle = before + (machine.now() - before) / 2
    ahead = (told.astimezone(UTC) - middle).total_seconds()
    text = (
        f"The database's clock is {abs(ahead):.1f} s {'ahead of' if ahead > 0 else 'behind'} this machine's."
    )
    advice = (
        "Let both machines keep time by NTP. Jobs go by the database's clock; logs and pages go by this one."
    )
    if abs(ahead) > SKEW_FAULT.total_seconds():
        return fault("clock", text, advice, ahead_seconds=ahead)
    if abs(ahead) > SKEW_WARNING.total_seconds():
        return warning("clock", text, advice, ahead_seconds=ahead)
    return ok(
        "clock",
        f"The database's clock and this machine's agree ({abs(ahead) * 1000:.0f} ms).",
        ahead_seconds=ahead,
    )
