"""Who could start next.

The claim's index orders claimable rows by (queue, handler key, priority, due time, id). ``groups`` hops over
it from one (type, priority) to the next, so a million rows of a suspended type, or of one that this worker
does not know, cost one hop. ``candidates`` then reads the first few rows of each startable group.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from uuid import UUID

from django.db import connection

from jobsplatform.kernel.prepared import prepared_cursor
from tasks.sql.values import time_out, uuid_out

# Spelled as constants: a partial index is only used when its condition can be proved while planning.
_OPEN = "state = 'pending' AND hold = ''"
_MAX_GROUPS = 2000

_GROUPS = f"""
WITH RECURSIVE lanes(k) AS (
    SELECT (SELECT min(handler_key) FROM tasks_job WHERE {_OPEN} AND queue = %s)
    UNION ALL
    SELECT (SELECT min(handler_key) FROM tasks_job WHERE {_OPEN} AND queue = %s AND handler_key > lanes.k)
    FROM lanes WHERE lanes.k IS NOT NULL
), groups(k, p) AS (
    SELECT k, (SELECT max(priority) FROM tasks_job WHERE {_OPEN} AND queue = %s AND handler_key = lanes.k)
    FROM lanes WHERE k IS NOT NULL
    UNION ALL
    SELECT k, (SELECT max(priority) FROM tasks_job
               WHERE {_OPEN} AND queue = %s AND handler_key = groups.k AND priority < groups.p)
    FROM groups WHERE p IS NOT NULL
)
SELECT k, p FROM groups WHERE p IS NOT NULL LIMIT {_MAX_GROUPS}
"""

_COLUMNS = (
    "id, queue, handler_key, priority, due_at, concurrency_key, concurrency_limit, tenant_id, app_id, exclusive, "
    "solo, CASE WHEN first_started_at IS NULL THEN latest_start_at END"
)
_ONE_GROUP = f"""
SELECT * FROM (
    SELECT {_COLUMNS} FROM tasks_job
    WHERE {_OPEN} AND queue = %s AND handler_key = %s AND priority = %s
    ORDER BY due_at, id LIMIT %s
) AS g
"""


@dataclass(frozen=True, slots=True)
class Group:
    """The claimable jobs of one queue, type and priority."""

    queue: str
    handler_key: str
    priority: int


def groups(queue: str) -> list[Group]:
    """Every (type, priority) of the queue that has a claimable row."""
    with prepared_cursor(connection) as cursor:
        cursor.execute(_GROUPS, [queue] * 4)
        return [Group(queue, key, priority) for key, priority in cursor.fetchall()]


@dataclass(frozen=True, slots=True)
class Candidate:
    """A claimable row, with what the choice depends on."""

    id: UUID
    queue: str
    handler_key: str
    priority: int
    due_at: datetime
    concurrency_key: str
    concurrency_limit: int
    tenant_id: str
    app_id: str
    exclusive: bool
    solo: bool
    latest_start_at: datetime | None  # while it has not begun

    @property
    def group(self) -> Group:
        return Group(self.queue, self.handler_key, self.priority)


def candidates(wanted: Sequence[tuple[Group, int]]) -> list[Candidate]:
    """The oldest rows of each group, as many as asked for, most urgent and then oldest first."""
    found: list[Candidate] = []
    asked = [(group, n) for group, n in wanted if n > 0]
    # SQLite allows 500 parts in one compound query.
    for start in range(0, len(asked), 200):
        part = asked[start : start + 200]
        params = [value for g, n in part for value in (g.queue, g.handler_key, g.priority, n)]
        # Of one group, as mostly, the text is always the same.
        with prepared_cursor(connection) if len(part) == 1 else connection.cursor() as cursor:
            cursor.execute(" UNION ALL ".join([_ONE_GROUP] * len(part)), params)
            for job_id, queue, handler_key, priority, due_at, *rest in cursor.fetchall():
                if rest[-1] is not None:
                    rest[-1] = time_out(rest[-1])
                found.append(
                    Candidate(uuid_out(job_id), queue, handler_key, priority, time_out(due_at), *rest)
                )
    return sorted(found, key=lambda job: (-job.priority, job.due_at, job.id))


def open_lanes(lanes: Sequence[tuple[str, str]], most: int) -> dict[tuple[str, str], int]:
    """How many jobs of each (queue, handler key) could be claimed, counted no further than ``most``."""
    found: dict[tuple[str, str], int] = {}
    one = f"""SELECT %s, (SELECT count(*) FROM (
        SELECT 1 FROM tasks_job WHERE {_OPEN} AND queue = %s AND handler_key = %s LIMIT %s) AS g)"""
    for start in range(0, len(lanes), 200):
        part = lanes[start : start + 200]
        params = [value for n, (queue, key) in enumerate(part) for value in (n, queue, key, most)]
        with connection.cursor() as cursor:
            cursor.execute(" UNION ALL ".join([one] * len(part)), params)
            found |= {part[int(n)]: int(count) for n, count in cursor.fetchall()}
    return found


def waiting(group: Group, most: int) -> int:
    """How many jobs of a group could be claimed, counted no further than ``most``."""
    with prepared_cursor(connection) as cursor:
        cursor.execute(
            f"""SELECT count(*) FROM (SELECT 1 FROM tasks_job
            WHERE {_OPEN} AND queue = %s AND handler_key = %s AND priority = %s LIMIT %s) AS g""",
            [group.queue, group.handler_key, group.priority, most],
        )
        return int(cursor.fetchone()[0])
