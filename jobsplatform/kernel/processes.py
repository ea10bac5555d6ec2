"""Who is alive: one row an incarnation, and its heartbeat.

Times are aware and UTC; ``now`` should come from ``kernel.clock``, which follows the database.
"""

from __future__ import annotations

import functools
import json
import os
import socket
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any
from uuid import UUID

from django.db import connection
from django.db.models import Q, QuerySet

import jobsplatform
from jobsplatform.kernel.models import Process
from jobsplatform.kernel.prepared import prepared_cursor

KEEP_ENDED = timedelta(days=1)
"""How long the row of a process that ended can still be looked at."""

SILENT_TOO_LONG = timedelta(days=1)
"""A process silent this long is not there, even if nobody was alive to declare it lost."""


def register(
    role: str,
    *,
    name: str,
    now: datetime,
    queues: Iterable[str] = (),
    concurrency: int = 0,
    handlers: Iterable[str] = (),
    capabilities: Mapping[str, bool] | None = None,
    info: Mapping[str, Any] | None = None,
) -> Process:
    """The row of this process's new incarnation. ``handlers`` are keys ``"app:type"``."""
    return Process.objects.create(
        host=socket.gethostname()[:255],
        pid=os.getpid(),
        role=Process.Role(role),
        name=name[:255],
        version=jobsplatform.__version__,
        queues=sorted(set(queues)),
        concurrency=concurrency,
        handlers=sorted(set(handlers)),
        capabilities=dict(capabilities or {}),
        started_at=now,
        heartbeat_at=now,
        info=dict(info or {}),
    )


def beat(process_id: UUID, now: datetime, *, of_app: str | None = None, **changes: Any) -> bool:
    """Say "alive", with changed columns if any. False: declared lost or stopped; a new incarnation is due.

    A heartbeat never goes back in time, so that a late one cannot make its process look silent. ``of_app``: only if
    it is a sidecar of this app; False when it is anything else.
    """
    alive = Process.objects.filter(pk=process_id, stopped_at=None, lost_at=None)
    if of_app is not None:
        alive = alive.filter(role=Process.Role.SIDECAR, app_id=of_app)
    if alive.filter(heartbeat_at__lte=now).update(heartbeat_at=now, **changes):
        return True
    return bool(alive.update(**changes)) if changes else alive.exists()


def stopping(process_id: UUID, now: datetime) -> bool:
    """It drains: no new jobs, heartbeats go on."""
    return beat(process_id, now, stopping=True)


def stop(process_id: UUID, now: datetime) -> bool:
    """It ended by itself. False: it had ended before."""
    return bool(
        Process.objects.filter(pk=process_id, stopped_at=None, lost_at=None).update(
            stopped_at=now, heartbeat_at=now, stopping=True
        )
    )


def declare_lost(process_id: UUID, now: datetime, *, silent_since: datetime) -> bool:
    """It is dead, unless a heartbeat after ``silent_since`` says otherwise in the same moment."""
    return bool(
        Process.objects.filter(
            pk=process_id, stopped_at=None, lost_at=None, heartbeat_at__lte=silent_since
        ).update(lost_at=now)
    )


def live(now: datetime, lease_seconds: float) -> QuerySet[Process]:
    """Processes heard of within the lease, that have neither stopped nor been declared lost."""
    return Process.objects.filter(
        stopped_at=None, lost_at=None, heartbeat_at__gt=now - timedelta(seconds=lease_seconds)
    )


@dataclass(frozen=True, slots=True)
class Slots:
    """What one live process can run at once, and for which queues."""

    queues: list[str]
    count: int


def slots(now: datetime, lease_seconds: float) -> list[Slots]:
    """The slots of the ``live`` processes; a thread that cannot be killed takes one away."""
    with prepared_cursor(connection) as cursor:
        cursor.execute(
            "SELECT queues, concurrency - busy_threads FROM kernel_process WHERE stopped_at IS NULL "
            "AND lost_at IS NULL AND heartbeat_at > %s AND concurrency > busy_threads",
            [connection.ops.adapt_datetimefield_value(now - timedelta(seconds=lease_seconds))],
        )
        return [Slots(json.loads(queues), count) for queues, count in cursor.fetchall()]


def silent(now: datetime, lease_seconds: float) -> QuerySet[Process]:
    """Processes that should be alive and were not heard of for a whole lease."""
    return Process.objects.filter(
        stopped_at=None, lost_at=None, heartbeat_at__lte=now - timedelta(seconds=lease_seconds)
    )


def could_be_heard(process: Process, now: datetime, lease_seconds: float) -> bool:
    """Whether its silence is its own fault. A sidecar beats over the bus: a web process must have been there for
    the whole time, and still be there; after a start it has a lease to answer all who were waiting for it."""
    if process.role != Process.Role.SIDECAR or not process.app_id:
        return True
    doors = Process.objects.filter(role=Process.Role.WEB, stopped_at=None, lost_at=None)
    return doors.filter(
        started_at__lte=now - timedelta(seconds=2 * lease_seconds),
        heartbeat_at__gt=now - timedelta(seconds=lease_seconds / 2),
    ).exists()


def prune(now: datetime) -> int:
    """Remove the rows of processes that ended, or fell silent, more than a day ago; how many."""
    old = Q(stopped_at__lte=now - KEEP_ENDED) | Q(lost_at__lte=now - KEEP_ENDED)
    forgotten = ~Q(role=Process.Role.WORKER) & Q(
        stopped_at=None, lost_at=None, heartbeat_at__lte=now - SILENT_TOO_LONG
    )
    return Process.objects.filter(old | forgotten).delete()[0]


@functools.lru_cache(maxsize=256)
def name_of(process_id: UUID) -> str:
    """The name of an incarnation; it never changes, so it is read once. Empty when the row is gone."""
    return str(Process.objects.filter(pk=process_id).values_list("name", flat=True).first() or "")
