"""Which error ends a command with which code and words."""

import pytest
from django.core.exceptions import ImproperlyConfigured
from django.db import DataError, IntegrityError, InterfaceError, OperationalError, ProgrammingError
from kombu.exceptions import OperationalError as BrokerError
from redis.exceptions import ConnectionError as RedisAway

from jobsplatform.kernel.errors import (
    IllegalMove,
    InvalidInput,
    JobNotFound,
    LockUnavailable,
    TenantForbidden,
    UnknownName,
    Unreachable,
)
from tasks.cli.exits import Refused, refusal


@pytest.mark.parametrize(
    ("error", "code", "words"),
    [
        (UnknownName("queue", "mial", ["mail"]), 2, "Did you mean 'mail'?"),
        (InvalidInput("two\nlines"), 2, "two lines"),
        (JobNotFound("x"), 2, "retention has passed"),
        (IllegalMove("no"), 2, "no"),
        (TenantForbidden("no"), 2, "no"),
        (ImproperlyConfigured("NAME is missing"), 2, "settings are wrong"),
        (Unreachable("gone"), 3, "gone"),
        (LockUnavailable("gone"), 3, "gone"),
        (OperationalError("connection refused"), 3, "Look at DATABASE_URL"),
        (OperationalError("unable to open database file"), 3, "Look at DATABASE_URL"),
        (OperationalError('database "jobs" does not exist'), 3, "Look at DATABASE_URL"),
        (InterfaceError("connection already closed"), 3, "Look at DATABASE_URL"),
        (OperationalError("no such table: tasks_job"), 3, "manage.py migrate"),
        (OperationalError("no such column: tasks_job.x"), 3, "manage.py migrate"),
        (ProgrammingError('relation "tasks_job" does not exist'), 3, "manage.py migrate"),
        (RedisAway("connection refused"), 3, "REDIS_URL"),
        (BrokerError("connection refused"), 3, "CELERY_BROKER_URL"),
    ],
)
def test_an_error_of_the_user_or_an_absent_server_is_one_line(error, code, words):
    complaint = refusal(error)
    assert isinstance(complaint, Refused)
    assert complaint.returncode == code
    assert words in str(complaint)
    assert "\n" not in str(complaint)


@pytest.mark.parametrize(
    "error", [ValueError("x"), IntegrityError("x"), DataError("x"), ProgrammingError("syntax error")]
)
def test_a_fault_of_our_own_keeps_its_traceback(error):
    assert refusal(error) is None
