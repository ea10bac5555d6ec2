"""Each unsafe combination is refused by its own id, with a hint."""

import sqlite3
from typing import Any

import pytest
from django.conf import settings

from jobsplatform.kernel import checks, config
from jobsplatform.kernel.config import Config

POSTGRES = {"default": {"ENGINE": "django.db.backends.postgresql", "NAME": "x"}}
SQLITE = {"default": {"ENGINE": "django.db.backends.sqlite3", "NAME": "x"}}
SAFE = {
    "PROFILE": "cloud",
    "SECRET_KEY": "0123456789abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ",
    "DATABASE_URL": "postgresql://db/x",
    "REDIS_URL": "redis://cache",
    "ALLOWED_HOSTS": "jobs.example",
}


def ids(environ: dict[str, str], **django: Any) -> list[str]:
    """The ids told for an environment, with Django's settings derived from it unless given."""
    found: Config = config.load(environ)
    derived = {
        "DEBUG": found.debug,
        "SECRET_KEY": found.secret_key,
        "ALLOWED_HOSTS": list(found.allowed_hosts),
        "DATABASES": SQLITE if found.database_url.startswith("sqlite") else POSTGRES,
    }
    with pytest.MonkeyPatch.context() as patch:
        for name, value in (derived | django).items():
            patch.setattr(settings, name, value)
        told = list(checks.faults(found))
    assert all(message.hint for message in told)
    return [str(message.id).removeprefix("jobsplatform.") for message in told]


def test_a_sound_cloud_passes() -> None:
    assert ids(SAFE) == []


def test_the_defaults_pass(tmp_path: Any) -> None:
    assert ids({"DATA_DIR": str(tmp_path)}) == []


@pytest.mark.parametrize(
    ("change", "number"),
    [
        ({"LOCKS__PROVIDER": "memory"}, "E001"),
        ({"PROFILE": "private", "LOCKS__PROVIDER": "memory"}, "E001"),
        ({"DATABASE_URL": "sqlite:////x"}, "E002"),
        ({"PROFILE": "private", "DATABASE_URL": "sqlite:////x"}, "E002"),
        ({"DEBUG": "1"}, "E003"),
        ({"SECRET_KEY": "short"}, "E004"),
        ({"SECRET_KEY": "a" * 80}, "E004"),
        ({"SECRET_KEY": "django-insecure-" + SAFE["SECRET_KEY"]}, "E004"),
        ({"SECRET_KEY": "change-me-" + SAFE["SECRET_KEY"]}, "E004"),
        ({"ALLOWED_HOSTS": ""}, "E005"),
        ({"CELERY_BROKER_URL": "memory://"}, "E007"),
        ({"PROFILE": "private", "CELERY_BROKER_URL": "memory://"}, "E007"),
        ({"TASKS__RESEND_SECONDS": "1"}, "E008"),
        ({"TASKS__SHUTDOWN_GRACE_SECONDS": "1"}, "W001"),
        ({"ALLOWED_HOSTS": "*"}, "W002"),
        ({"PROFILE": "private", "ALLOWED_HOSTS": ""}, "W003"),
    ],
)
def test_an_unsafe_setting_is_told(change: dict[str, str], number: str) -> None:
    assert ids(SAFE | change) == [number]


def test_no_redis_in_the_cloud_is_told() -> None:
    assert ids(SAFE | {"REDIS_URL": ""}) == ["E007"]


def test_naive_times_are_refused() -> None:
    assert ids(SAFE, USE_TZ=False) == ["E006"]


def test_an_old_sqlite_is_refused(tmp_path: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sqlite3, "sqlite_version_info", (3, 34, 1))
    assert ids({"DATA_DIR": str(tmp_path)}) == ["E009"]
    assert ids(SAFE) == []
