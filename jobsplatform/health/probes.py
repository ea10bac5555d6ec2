"""What must be there before work can be done; each probe answers in words that give nothing away."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime

import redis
from django.db import DatabaseError, connection
from django.db.migrations.executor import MigrationExecutor

from jobsplatform.kernel import clock, config, processes
from jobsplatform.kernel.models import Process
from scheduler import overdue

BROKER_TIMEOUT = 1.0


@dataclass(frozen=True, slots=True)
class Part:
    """One answer. ``detail`` may name hosts and is for whoever holds the health token; ``named`` are names of ours
    (as on the page of numbers), for everybody where no token guards them."""

    name: str
    ok: bool
    told: str
    detail: str = ""
    named: Mapping[str, Sequence[object]] = field(default_factory=dict)

    def as_dict(self, *, open_details: bool, open_names: bool = False) -> dict[str, object]:
        facts: dict[str, object] = {"ok": self.ok, "status": self.told}
        if open_details and self.detail:
            facts["detail"] = self.detail
        if open_names or open_details:
            facts |= {name: list(values) for name, values in self.named.items() if values}
        return facts


def all_parts() -> list[Part]:
    """Every probe's answer. Without a database the questions to it are not asked."""
    database_part = database()
    parts = [database_part, broker()]
    if not database_part.ok:
        unasked = "unknown: the database is away"
        return [*parts, *(Part(name, False, unasked) for name in ("migrations", "workers", "schedules"))]
    applied = migrations()
    now = clock.now()
    late = schedules(now) if applied.ok else Part("schedules", False, "unknown: migrations are missing")
    return [*parts, applied, workers(now), late]


def database() -> Part:
    """Whether the database answers a question."""
    try:
        with connection.cursor() as cursor:
            cursor.execute("SELECT 1")
            cursor.fetchone()
    except DatabaseError as error:
        # A dead connection must not stay for the next question.
        connection.close()
        return Part("database", False, "does not answer", detail=str(error).strip())
    return Part("database", True, "answers")


def broker() -> Part:
    """Whether the broker that carries jobs to the workers answers."""
    settings = config.get()
    if settings.tasks.provider == "sync":
        return Part("broker", True, "not used: jobs run where they are enqueued")
    url = settings.celery_broker_url
    if url.startswith("memory://"):
        return Part("broker", True, "inside this process")
    if not url.startswith(("redis://", "rediss://", "unix://", "redis+socket://")):
        return Part("broker", True, "not looked at: only Redis is")
    try:
        client = redis.Redis.from_url(
            redis_address(url), socket_timeout=BROKER_TIMEOUT, socket_connect_timeout=BROKER_TIMEOUT
        )
        with client:
            client.ping()
    except (redis.RedisError, OSError, ValueError) as error:
        return Part("broker", False, "does not answer", detail=type(error).__name__)
    return Part("broker", True, "answers")


def redis_address(url: str) -> str:
    """A broker address as the Redis client reads it: Celery writes sockets and their database differently."""
    if url.startswith("redis+socket://"):
        return "unix://" + url.removeprefix("redis+socket://").replace("virtual_host=", "db=")
    return url


_applied_once = False


def migrations() -> Part:
    """Whether every migration has been applied; asked again only until the answer is yes."""
    global _applied_once
    if not _applied_once:
        executor = MigrationExecutor(connection)
        missing = len(executor.migration_plan(executor.loader.graph.leaf_nodes()))
        if missing:
            return Part("migrations", False, f"{missing} not applied: run manage.py migrate")
        _applied_once = True
    return Part("migrations", True, "applied")


def workers(now: datetime) -> Part:
    """Whether at least one worker has been heard of within the lease."""
    settings = config.get()
    if settings.tasks.provider == "sync":
        return Part("workers", True, "not needed: jobs run where they are enqueued")
    found = processes.live(now, settings.tasks.lease_seconds).filter(role=Process.Role.WORKER).count()
    return Part("workers", found > 0, f"{found} alive" if found else "none alive: start a worker")


def schedules(now: datetime) -> Part:
    """Whether every slot is decided in time. Names the schedules that are late and, apart, those that are faulty."""
    found = overdue.report(now)
    told = f"{found.overdue_count} overdue: is a scheduler alive?" if found.overdue_count else "on time"
    if found.faulty_count:
        told += f"; {found.faulty_count} faulty"
    named = {
        "overdue": [one.name for one in found.overdue],
        "faulty": [one.schedule_id for one in found.faulty],
    }
    return Part("schedules", not found.overdue_count, told, named=named)
