"""What a dispatch round counts and looks at, one statement each."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from uuid import UUID

from django.db import connection

from jobsplatform.kernel.prepared import prepared_cursor
from tasks.sql.values import time_in, uuid_in, uuid_out

_LOOK = """
SELECT (SELECT min(due_at) FROM tasks_job WHERE state = 'pending' AND hold = 'later') <= %s,
    EXISTS (SELECT 1 FROM tasks_job WHERE state IN ('dispatched', 'running') AND worker_id = %s
        AND state = 'dispatched' AND dispatched_at <= %s),
    @claimable
"""
_CLAIMABLE = "(SELECT min(handler_key) FROM tasks_job WHERE state = 'pending' AND hold = '' AND queue = %s) IS NOT NULL"


@dataclass(frozen=True, slots=True)
class Look:
    """Whether a round has anything to do: jobs that have come due, messages that may be lost, claimable jobs."""

    due: bool
    late: bool
    claimable: bool


def look(worker_id: UUID, queues: Sequence[str], now: datetime, late_since: datetime) -> Look:
    """Look once, without a lock. ``late_since``: a message sent to this worker before it should have started."""
    sql = _LOOK.replace("@claimable", " OR ".join([_CLAIMABLE] * len(queues)) or "NULL")
    with prepared_cursor(connection) as cursor:
        cursor.execute(sql, [time_in(now), uuid_in(worker_id), time_in(late_since), *queues])
        return Look(*map(bool, cursor.fetchone()))


_IN_FLIGHT = """
SELECT 'jobs', handler_key, NULL, count(*) FROM tasks_job
WHERE state IN ('dispatched', 'running') GROUP BY handler_key
UNION ALL
SELECT 'slots', queue, worker_id, count(DISTINCT COALESCE(slot, id)) FROM tasks_job
WHERE state IN ('dispatched', 'running') GROUP BY queue, worker_id
"""


@dataclass(frozen=True, slots=True)
class Counted:
    """``jobs`` dispatched or running by handler key; ``slots`` taken by (queue, worker)."""

    jobs: dict[str, int]
    slots: dict[tuple[str, UUID], int]


def in_flight() -> Counted:
    """Count as of now. Jobs that take turns in one slot are one slot, and as many jobs as there are."""
    counted = Counted({}, {})
    with prepared_cursor(connection) as cursor:
        cursor.execute(_IN_FLIGHT)
        for what, name, worker_id, n in cursor.fetchall():
            if what == "jobs":
                counted.jobs[name] = n
            else:
                counted.slots[(name, uuid_out(worker_id))] = n
    return counted


def slots_of(worker_id: UUID) -> set[UUID]:
    """The shared slots of a worker that hold jobs in flight."""
    with prepared_cursor(connection) as cursor:
        cursor.execute(
            "SELECT DISTINCT slot FROM tasks_job WHERE state IN ('dispatched', 'running') AND worker_id = %s "
            "AND slot IS NOT NULL",
            [uuid_in(worker_id)],
        )
        return {uuid_out(slot) for (slot,) in cursor.fetchall()}
