"""Fixtures of every layer: which database a test sees, and the environment of the processes it starts."""

import os
from pathlib import Path
from typing import Any
from urllib.parse import quote, urlencode

import pytest
from django.db import connection, connections

from tests import emptying


def pytest_configure(config: pytest.Config) -> None:
    emptying.install()


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Skip what only PostgreSQL can show when this run is on SQLite."""
    if connection.vendor == "postgresql":
        return
    for item in items:
        if item.get_closest_marker("postgres"):
            item.add_marker(pytest.mark.skip(reason="needs PostgreSQL (--postgres)"))


@pytest.fixture(scope="session")
def django_db_modify_db_settings(run_folder: Path) -> None:
    """Give the test database a name of this process, and SQLite a file.

    SQLite's usual test database lives in memory, where threads share one connection's lock and no second
    process can look; races and child processes need a file. Several runs may share one PostgreSQL server.
    """
    for alias in connections:
        settings = connections[alias].settings_dict
        name = f"test_{alias}_{os.getpid()}"
        settings["TEST"]["NAME"] = (
            str(run_folder / f"{name}.sqlite3") if connections[alias].vendor == "sqlite" else name
        )


@pytest.fixture
def process_environment(django_db_setup: None) -> dict[str, str]:
    """The environment of a process that works on this test's database; use `transactional_db` with it."""
    return {**os.environ, "DATABASE_URL": url_of(connection.settings_dict)}


def url_of(settings: dict[str, Any]) -> str:
    """The DATABASE_URL of Django's settings for a connection."""
    name = quote(str(settings["NAME"]))
    if settings["ENGINE"].endswith("sqlite3"):
        return f"sqlite:///{name}"
    facts = {
        **{key: value for key, value in settings["OPTIONS"].items() if key == "sslmode"},
        **{key.lower(): settings[key] for key in ("HOST", "PORT", "USER", "PASSWORD")},
    }
    query = urlencode({key: value for key, value in facts.items() if value})
    return f"postgresql:///{name}?{query}"
