"""The hot writes on SQLite, which has no data-modifying WITH: many rows a statement all the same.

What is to be written comes as one JSON value, whatever the number of rows, so that the statement is always the
same text and is prepared once.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from datetime import timedelta
from typing import TYPE_CHECKING, Any
from uuid import UUID

from django.db import connection, transaction
from django.db.models import BooleanField, DateTimeField, JSONField, UUIDField
from django.db.models.base import ModelState

from tasks.json_values import StoredJSON
from tasks.models import Job
from tasks.sql.values import time_out, uuid_in, uuid_out

if TYPE_CHECKING:
    from tasks.sql.writes import Completed

_decode = StoredJSON.decode

_READERS: dict[type, Callable[[Any], Any]] = {
    UUIDField: uuid_out,
    DateTimeField: time_out,
    BooleanField: bool,
    JSONField: _decode,
}
# A foreign key is stored as what it points at is.
_READ = {
    field.attname: reader
    for field in Job._meta.concrete_fields
    for kind, reader in _READERS.items()
    if isinstance(getattr(field, "target_field", field), kind)
}


def jobs(sql: str, params: Sequence[Any], columns: Sequence[str]) -> list[Job]:
    """The rows that a statement returns, as jobs; columns that it does not return are read when asked for."""
    with connection.cursor() as cursor:
        cursor.execute(sql, params)
        rows = cursor.fetchall()
    reads = [(n, _READ[name]) for n, name in enumerate(columns) if name in _READ]
    found = []
    for row in rows:
        values = list(row)
        for n, read in reads:
            if values[n] is not None:
                values[n] = read(values[n])
        job = Job.__new__(Job)
        job.__dict__.update(zip(columns, values, strict=True), _state=ModelState())
        job._state.adding, job._state.db = False, connection.alias
        found.append(job)
    return found


# The plus keeps the planner from walking all running jobs once for each of these.
_COMPLETE = """
UPDATE tasks_job SET state = 'completed', hold = '', result = v.result, started_at = v.started_at,
    finished_at = v.ended_at, updated_at = v.ended_at, purge_at = v.purge_at, worker_id = NULL, pack = NULL,
    slot = NULL, deadline_at = NULL, open_end = false, error = '', error_type = '', reason = '',
    revision = revision + 1
FROM (
    SELECT json_extract(value, '$[0]') AS id, json_extract(value, '$[1]') AS lease,
        json_extract(value, '$[2]') AS result, json_extract(value, '$[4]') AS started_at,
        json_extract(value, '$[5]') AS ended_at, json_extract(value, '$[6]') AS purge_at
    FROM json_each(%s)
) AS v
WHERE tasks_job.id = v.id AND tasks_job.lease = v.lease AND +state = 'running' AND cancel_reason = '' AND NOT spawned
RETURNING id, attempt
"""
_ATTEMPTS = """
INSERT INTO tasks_jobattempt (job_id, lease, number, outcome, reason, cause, worker_id, worker, started_at,
    finished_at, count, error_type, error, traceback)
SELECT json_extract(value, '$[0]'), json_extract(value, '$[1]'), json_extract(value, '$[6]'), 'complete', '', '', %s,
    %s, json_extract(value, '$[4]'), json_extract(value, '$[5]'), json_extract(value, '$[3]'), '', '', ''
FROM json_each(%s)
"""


def complete(
    runs: Sequence[Completed], keep: timedelta | None, worker_id: UUID | None, worker: str
) -> set[UUID]:
    """As ``writes.complete``; the rows and their attempts in one transaction."""
    rows, instant = {}, connection.ops.adapt_datetimefield_value
    for run in runs:
        purge_at = instant(run.ended_at + keep) if keep is not None else None
        started, ended = instant(run.started_at), instant(run.ended_at)
        rows[run.job_id.hex] = [run.job_id.hex, run.lease, run.result, run.counted, started, ended, purge_at]
    with _one_transaction(), connection.cursor() as cursor:
        cursor.execute(_COMPLETE, [json.dumps(list(rows.values()))])
        numbers = {uuid_out(job_id).hex: number for job_id, number in cursor.fetchall()}
        done = [[*rows[key][:6], number] for key, number in numbers.items()]
        if done:
            cursor.execute(_ATTEMPTS, [uuid_in(worker_id), worker, json.dumps(done)])
    return {UUID(key) for key in numbers}


@contextmanager
def _one_transaction() -> Iterator[None]:
    if connection.in_atomic_block:
        yield
    else:
        with transaction.atomic():
            yield
