"""System checks: settings that load, and that nobody should run with."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from django.conf import settings  # noqa: TID251 (checks what Django itself was given)
from django.core import checks

from jobsplatform.kernel import config as configuration
from jobsplatform.kernel.config import Config

SHORT_SECRET = 50
PLACEHOLDERS = ("insecure", "change", "secret", "example", "password", "placeholder")
SQLITE_NEEDED = (3, 35, 0)
"""RETURNING exists since 3.35 (https://www.sqlite.org/lang_returning.html)."""


def install() -> None:
    """Make ``manage.py check`` and every command that checks run ours."""
    checks.register(platform_checks)


def platform_checks(app_configs: Any = None, **_: Any) -> list[checks.CheckMessage]:
    """All faults of the configuration in force and of Django's settings beside it."""
    return list(faults(configuration.get()))


def faults(config: Config) -> Iterator[checks.CheckMessage]:
    """Each unsafe combination, with its id and what to do."""
    if config.profile != "local":
        yield from _several_hosts(config)
    if config.profile == "cloud":
        yield from _open_to_the_world(config)
    if not settings.USE_TZ:
        yield _error("E006", "USE_TZ is off: instants would be ambiguous.", "Set USE_TZ = True.")
    yield from _broker(config)
    if _is_sqlite():
        yield from _sqlite()


def _sqlite() -> Iterator[checks.CheckMessage]:
    import sqlite3  # noqa: PLC0415 (a worker on PostgreSQL does without)

    if sqlite3.sqlite_version_info < SQLITE_NEEDED:
        yield _error(
            "E009",
            f"SQLite {sqlite3.sqlite_version} has no RETURNING.",
            "Use SQLite 3.35 or newer (a newer Python brings one), or PostgreSQL.",
        )


def _several_hosts(config: Config) -> Iterator[checks.CheckMessage]:
    if config.lock_provider == "memory":
        yield _error(
            "E001",
            f"Locks in memory in the profile {config.profile}: other processes would not see them.",
            "Set LOCKS__PROVIDER to redis or database, or leave it out.",
        )
    if _is_sqlite():
        yield _error(
            "E002",
            f"SQLite in the profile {config.profile}: several hosts cannot share a file.",
            "Set DATABASE_URL=postgresql://user:password@host:5432/name, or PROFILE=local.",
        )
    if config.celery_broker_url.startswith("memory://") and config.tasks.provider == "celery":
        yield _error(
            "E007",
            f"The broker memory:// in the profile {config.profile}: messages never leave their process.",
            "Set REDIS_URL or CELERY_BROKER_URL.",
        )
    if not settings.ALLOWED_HOSTS and config.profile == "private":
        yield _warning(
            "W003",
            "ALLOWED_HOSTS is empty: web processes refuse every request.",
            "Set ALLOWED_HOSTS to the names that the site is reached by, separated by commas.",
        )


def _open_to_the_world(config: Config) -> Iterator[checks.CheckMessage]:
    if settings.DEBUG:
        yield _error("E003", "DEBUG is on in the profile cloud.", "Remove DEBUG from the environment.")
    secret = settings.SECRET_KEY
    placeholder = any(word in secret.lower() for word in PLACEHOLDERS)
    if placeholder or len(secret) < SHORT_SECRET or len(set(secret)) < 10:
        yield _error(
            "E004",
            "SECRET_KEY is short or a placeholder: sessions could be forged.",
            f"Set SECRET_KEY to {SHORT_SECRET} random characters or more.",
        )
    if not settings.ALLOWED_HOSTS:
        yield _error(
            "E005",
            "ALLOWED_HOSTS is empty in the profile cloud: every request would be refused.",
            "Set ALLOWED_HOSTS to the names that the site is reached by, separated by commas.",
        )
    if "*" in settings.ALLOWED_HOSTS:
        yield _warning(
            "W002",
            "ALLOWED_HOSTS takes any name.",
            "Name the hosts, unless a proxy in front checks them.",
        )


def _broker(config: Config) -> Iterator[checks.CheckMessage]:
    tasks = config.tasks
    if tasks.resend_seconds < tasks.poll_seconds:
        yield _error(
            "E008",
            f"TASKS__RESEND_SECONDS ({tasks.resend_seconds:g}) is below TASKS__POLL_SECONDS "
            f"({tasks.poll_seconds:g}): every message would look lost before anybody looked.",
            "Raise TASKS__RESEND_SECONDS or lower TASKS__POLL_SECONDS.",
        )
    if tasks.shutdown_grace_seconds < tasks.cancel_grace_seconds:
        yield _warning(
            "W001",
            f"TASKS__SHUTDOWN_GRACE_SECONDS ({tasks.shutdown_grace_seconds:g}) is below "
            f"TASKS__CANCEL_GRACE_SECONDS ({tasks.cancel_grace_seconds:g}): a deploy ends before "
            "handlers had their time to stop.",
            "Raise TASKS__SHUTDOWN_GRACE_SECONDS, and the time that your process manager waits, beyond it.",
        )


def _is_sqlite() -> bool:
    return str(settings.DATABASES.get("default", {}).get("ENGINE", "")).endswith("sqlite3")


def _error(number: str, message: str, hint: str) -> checks.CheckMessage:
    return checks.Error(message, hint=hint, id=f"jobsplatform.{number}")


def _warning(number: str, message: str, hint: str) -> checks.CheckMessage:
    return checks.Warning(message, hint=hint, id=f"jobsplatform.{number}")
