"""Under what the figures came about: machine, versions, servers' settings."""

from __future__ import annotations

import os
import platform
import subprocess
from collections.abc import Iterable
from datetime import UTC, datetime
from importlib.metadata import PackageNotFoundError, version

import psutil

from benchmarks.processes import ROOT
from benchmarks.stage import Stage
from benchmarks.systems.base import System

PACKAGES = (
    "Django",
    "celery",
    "kombu",
    "redis",
    "psycopg",
    "django-celery-results",
    "procrastinate",
    "pgqueuer",
    "asyncpg",
    "uvloop",
)
_POSTGRES = ("fsync", "synchronous_commit", "full_page_writes", "shared_buffers", "max_connections")


def describe(
    stage: Stage, systems: Iterable[System], rounds: int, packages: Iterable[str] = PACKAGES
) -> list[str]:
    """One line each: machine, code, servers, then how each system is set up."""
    client = stage.redis.client()
    redis = client.info("server")
    append_only = client.config_get("appendonly")["appendonly"]
    client.close()
    settings = ", ".join(f"{name} {stage.sql('postgres', f'SHOW {name}')}" for name in _POSTGRES)
    lines = [
        f"{datetime.now(UTC):%Y-%m-%d %H:%M} UTC; JobsPlatform {_revision()}; rounds: {rounds}, medians",
        f"{psutil.cpu_count()} cores, {psutil.virtual_memory().total / 2**30:.0f} GiB, {platform.system()} "
        f"{platform.machine()}, Python {platform.python_version()}; load before: {os.getloadavg()[0]:.2f}",
        f"PostgreSQL {stage.sql('postgres', 'SHOW server_version')} over a Unix socket: {settings}",
        f"{redis.get('server_name', 'redis').capitalize()} {redis.get('valkey_version', redis['redis_version'])} over "
        f"loopback: appendonly {append_only}",
        "; ".join(f"{name} {_version(name)}" for name in packages),
    ]
    # A name may stand for two ways of use, each with settings of its own.
    described = dict.fromkeys(f"{system.name}: {system.settings}" for system in systems)
    return [*lines, *described]


def _version(package: str) -> str:
    try:
        return version(package)
    except PackageNotFoundError:
        return "not installed"


def _revision() -> str:
    try:
        done = subprocess.run(
            ["git", "describe", "--always", "--dirty"], cwd=ROOT, capture_output=True, text=True, check=False
        )
    except OSError:
        return "of unknown revision"
    return done.stdout.strip() or "of unknown revision"
