"""Exit codes, and which error means which."""

from __future__ import annotations

from django.core.exceptions import ImproperlyConfigured
from django.core.management.base import CommandError
from django.db import DatabaseError, InterfaceError, OperationalError, ProgrammingError
from kombu.exceptions import OperationalError as BrokerError
from redis.exceptions import RedisError

from jobsplatform.kernel.errors import PlatformError, Unreachable

DONE = 0
JOB_FAILED = 1
WRONG_USE = 2
UNREACHABLE = 3
TIMED_OUT = 124  # as of timeout(1)
INTERRUPTED = 130  # as of a shell, after SIGINT
READER_GONE = 141  # as of a shell, after SIGPIPE

_NO_TABLE = ("no such table", "no such column", "has no column", "does not exist", "undefinedtable")


class Refused(CommandError):
    """A command's one-line complaint. ``returncode`` is the exit code of the process."""

    def __init__(self, message: str, returncode: int = WRONG_USE) -> None:
        super().__init__(message, returncode=returncode)


def one_line(text: object) -> str:
    """The text with its line breaks taken out."""
    return " ".join(str(text).split())


def refusal(error: BaseException) -> Refused | None:
    """The complaint that stands for ``error``; None for an error that is ours, whose traceback is wanted."""
    if isinstance(error, Refused):
        return error
    if isinstance(error, Unreachable):
        return Refused(one_line(error.message), UNREACHABLE)
    if isinstance(error, PlatformError):
        return Refused(one_line(error.message))
    if isinstance(error, ImproperlyConfigured):
        return Refused(f"The settings are wrong: {one_line(error)}")
    if isinstance(error, RedisError | BrokerError):
        return Refused(
            f"Redis does not answer ({one_line(error)}). Look at REDIS_URL and CELERY_BROKER_URL and whether "
            "the server runs; 'manage.py doctor' says more.",
            UNREACHABLE,
        )
    if isinstance(error, DatabaseError | InterfaceError):
        return _of_database(error)
    return None


def _of_database(error: Exception) -> Refused | None:
    text = one_line(error)
    tables = isinstance(error, OperationalError | ProgrammingError)
    if tables and any(sign in text.lower() for sign in _NO_TABLE) and "database" not in text.lower():
        return Refused(
            f"The database lacks a table or column ({text}). Run 'manage.py migrate'.", UNREACHABLE
        )
    if isinstance(error, OperationalError | InterfaceError):
        return Refused(
            f"The database does not answer ({text}). Look at DATABASE_URL and whether the server runs; "
            "'manage.py doctor' says more.",
            UNREACHABLE,
        )
    return None
