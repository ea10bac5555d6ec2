"""The progress of many runs in one statement. Called by ``tasks.transitions`` alone."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime
from typing import NamedTuple
from uuid import UUID

from django.db import connection

from jobsplatform.kernel.prepared import prepared_cursor


class Report(NamedTuple):
    """How far one run is."""

    job_id: UUID
    lease: int
    done: float | None
    total: float | None
    label: str


_WRITE = """
    WITH picked AS MATERIALIZED (
        SELECT job.id, told.done, told.total, told.label
        FROM unnest(%s::uuid[], %s::bigint[], %s::float8[], %s::float8[], %s::text[])
            AS told(id, lease, done, total, label)
        JOIN tasks_job job ON job.id = told.id AND job.lease = told.lease AND job.state = 'running'
        FOR NO KEY UPDATE OF job SKIP LOCKED
    )
    UPDATE tasks_job SET progress_done = picked.done, progress_total = picked.total, progress_label = picked.label,
        progress_at = %s, updated_at = %s, revision = revision + 1
    FROM picked WHERE tasks_job.id = picked.id RETURNING tasks_job.id, tasks_job.lease"""


def write_many(reports: Sequence[Report], now: datetime) -> set[tuple[UUID, int]]:
    """The runs (job and lease) whose progress was written; the others are locked by somebody, or run under this lease
    no more. For PostgreSQL."""
    columns = [list(column) for column in zip(*reports, strict=True)]
    with prepared_cursor(connection) as cursor:
        cursor.execute(_WRITE, [*columns, now, now])
        return set(cursor.fetchall())
