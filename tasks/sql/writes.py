"""The hot writes, many rows a statement: claim, start, complete. Called by ``tasks.transitions`` alone.

What is to be written is picked in a materialised WITH: PostgreSQL may run a plain subquery with LIMIT and
SKIP LOCKED once for each row, and then writes more rows than the limit.

One statement each on PostgreSQL, so that a run costs two round trips and a pack a constant number. SQLite lacks
data-modifying WITH; what it needs otherwise is in ``tasks.sql.sqlite``.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from datetime import datetime, timedelta
from typing import Any, NamedTuple
from uuid import UUID

from django.db import connection
from django.db.backends.utils import CursorWrapper
from django.db.models import JSONField
from django.db.models.base import ModelState
from psycopg.types.datetime import TimestamptzLoader

from jobsplatform.kernel.db import is_postgres
from jobsplatform.kernel.prepared import prepared_cursor
from tasks.json_values import StoredJSON
from tasks.models import Job
from tasks.sql import sqlite
from tasks.sql.values import marks, time_in, uuid_in, uuid_out

# What a run needs to know of its job; the other columns are read when somebody asks for them.
STARTED = (
    "id", "app_id", "job_type", "handler_key", "queue", "priority", "state", "params", "data", "checkpoint",
    "lease", "worker_id", "pack", "solo", "attempt", "failures", "max_attempts", "crashes", "losses", "cancel_reason",
    "cancel_requested_at", "preempted_by", "due_at", "created_at", "started_at", "first_started_at", "concurrency_key",
    "dedupe_key", "role", "parent_id", "continuing", "open_end", "user_id", "tenant_id", "request_id", "traceparent",
    "planned_at", "window_start", "origin", "force", "spawned", "overlap_key",
)  # fmt: skip
_CLAIMED = (
    "id", "lease", "app_id", "job_type", "handler_key", "queue", "priority", "worker_id", "pack", "slot", "state",
    "due_at", "tenant_id", "solo", "concurrency_key",
)  # fmt: skip

_SET_CLAIMED = """
    state = 'dispatched', lease = lease + 1, worker_id = %s, pack = %s, slot = %s, dispatched_at = %s,
    updated_at = %s, revision = revision + 1, preempted_by = NULL
"""


def _anew(where: str) -> str:
    """The progress of a run that begins anew, where it does; else what it was."""
    empty = {"done": "NULL", "total": "NULL", "at": "NULL", "label": "''"}
    return ", ".join(
        f"progress_{name} = CASE WHEN {where} THEN {nothing} ELSE progress_{name} END"
        for name, nothing in empty.items()
    )


_SET_STARTED = f"""
    state = 'running', started_at = %s, updated_at = %s, first_started_at = COALESCE(first_started_at, %s),
    attempt = failures + 1, deadline_at = NULL, reason = '', cause = '', error = '', error_type = '',
    revision = revision + 1, {_anew("checkpoint IS NULL AND NOT continuing")}
"""


# PostgreSQL writes no space around a stored value, so what looks for some is left out.
_scan: Any = StoredJSON.scan_once
_JSON = {f.attname for f in Job._meta.concrete_fields if isinstance(f, JSONField)}


def _jobs(sql: str, params: Sequence[Any], columns: Sequence[str], *, prepared: bool = False) -> list[Job]:
    """The rows that a statement returns, as jobs; columns that it does not return are read when asked for."""
    return _ask(sql, params, columns, prepared=prepared)()


def _ask(
    sql: str, params: Sequence[Any], columns: Sequence[str], *, prepared: bool = False
) -> Callable[[], list[Job]]:
    """Send a statement; the answer is read when it is called for, as ``_jobs``.

    On PostgreSQL the values come typed and are put into place as they are: a tenth of what a model costs.
    """
    if not is_postgres():
        found = sqlite.jobs(sql, params, columns)
        return lambda: found
    cursor = prepared_cursor(connection) if prepared else connection.cursor()
    # Django reads instants in Python, four of them as slowly as the rest of the row; psycopg's own are the same.
    cursor.cursor.adapters.register_loader("timestamptz", TimestamptzLoader)
    cursor.execute(sql, params)
    return lambda: _read(cursor, columns)


def _read(cursor: CursorWrapper, columns: Sequence[str]) -> list[Job]:
    found, texts, alias = [], [name for name in columns if name in _JSON], connection.alias
    with cursor:
        for row in cursor.fetchall():
            job = Job.__new__(Job)
            values = job.__dict__
            values.update(zip(columns, row, strict=True))
            for name in texts:
                if values[name] is not None:
                    values[name] = _scan(values[name], 0)[0]
            state = values["_state"] = ModelState()
            state.adding, state.db = False, alias
            found.append(job)
    return found


def _skip_locked() -> str:
    return "FOR UPDATE SKIP LOCKED" if is_postgres() else ""


def claim(job_ids: Sequence[UUID], worker_id: UUID, now: datetime) -> list[Job]:
    """Claim these rows, except those that somebody else holds locked."""
    if not job_ids:
        return []
    sql = f"""
        WITH picked AS MATERIALIZED (
            SELECT id FROM tasks_job WHERE id IN ({marks(len(job_ids))}) AND state = 'pending' AND hold = ''
            ORDER BY id {_skip_locked()}
        )
        UPDATE tasks_job SET {_SET_CLAIMED} WHERE id IN (SELECT id FROM picked) RETURNING {", ".join(_CLAIMED)}"""
    at = time_in(now)
    return _jobs(
        sql,
        [*map(uuid_in, job_ids), uuid_in(worker_id), None, None, at, at],
        _CLAIMED,
        prepared=len(job_ids) == 1,
    )


class Sent(NamedTuple):
    """A job claimed along with another, and its lease."""

    job_id: UUID
    lease: int


def claim_along(first: Job, slot: UUID, pack: UUID | None, most: int, now: datetime) -> list[Sent]:
    """Put a claimed job, and up to ``most`` claimable ones of its kind, into one slot and pack; the latter, oldest
    first."""
    at, more = time_in(now), []
    with prepared_cursor(connection) as cursor:
        if most > 0:
            cursor.execute(
                f"""WITH picked AS MATERIALIZED (
                    SELECT id FROM tasks_job
                    WHERE state = 'pending' AND hold = '' AND queue = %s AND handler_key = %s AND priority = %s
                        AND tenant_id = %s AND concurrency_key = '' AND NOT solo
                    ORDER BY due_at, id LIMIT %s {_skip_locked()}
                )
                UPDATE tasks_job SET {_SET_CLAIMED} WHERE id IN (SELECT id FROM picked) RETURNING due_at, id, lease""",
                [
                    *[first.queue, first.handler_key, first.priority, first.tenant_id, most],
                    *[uuid_in(first.worker_id), uuid_in(pack), uuid_in(slot), at, at],
                ],
            )
            more = [Sent(uuid_out(job_id), lease) for _, job_id, lease in sorted(cursor.fetchall())]
        cursor.execute(
            "UPDATE tasks_job SET pack = %s, slot = %s WHERE id = %s AND state = 'dispatched' AND lease = %s",
            [uuid_in(pack if more else None), uuid_in(slot), uuid_in(first.id), first.lease],
        )
    return more


def start(job_id: UUID, lease: int, worker_id: UUID | None, now: datetime) -> Job | None:
    """Start one run; the row as it is now, or None when its lease is not the one that waits to be started, or it is
    past its latest start. (Jobs that have one are always by themselves: no other statement starts them.)"""
    mine = "AND worker_id = %s" if worker_id is not None else ""
    sql = f"""
        UPDATE tasks_job SET {_SET_STARTED}
        WHERE id = %s AND state = 'dispatched' AND lease = %s
            AND (latest_start_at IS NULL OR first_started_at IS NOT NULL OR latest_start_at >= %s) {mine}
        RETURNING {", ".join(STARTED)}"""
    at = time_in(now)
    values = [at, at, at, uuid_in(job_id), lease, at]
    found = _jobs(sql, [*values, uuid_in(worker_id)] if mine else values, STARTED, prepared=True)
    return found[0] if found else None


class Part(NamedTuple):
    """What is to begin of a pack: up to ``most`` of its runs."""

    pack: UUID
    worker_id: UUID
    most: int


def start_pack(pack: UUID, worker_id: UUID, most: int, now: datetime) -> Callable[[], list[Job]]:
    """Start up to ``most`` runs of a pack that this worker was sent; called for, they come oldest first."""
    sql = f"""
        WITH picked AS MATERIALIZED (
            SELECT id FROM tasks_job WHERE state = 'dispatched' AND worker_id = %s AND pack = %s
            ORDER BY due_at, id LIMIT %s {"FOR UPDATE" if is_postgres() else ""}
        )
        UPDATE tasks_job SET {_SET_STARTED} WHERE id IN (SELECT id FROM picked) RETURNING {", ".join(STARTED)}"""
    at = time_in(now)
    params = [uuid_in(worker_id), uuid_in(pack), most, at, at, at]
    started = _ask(sql, params, STARTED)
    return lambda: sorted(started(), key=lambda job: (job.due_at, job.id.int))


class Completed(NamedTuple):
    """One run to be written as completed. ``result`` is JSON text or None."""

    job_id: UUID
    lease: int
    result: str | None
    counted: int | None
    started_at: datetime
    ended_at: datetime


def to_json(value: Any) -> str | None:
    """A checked JSON value as it is stored; None is stored as no value."""
    return None if value is None else json.dumps(value)


_SET_COMPLETED = """
    state = 'completed', hold = '', worker_id = NULL, pack = NULL, slot = NULL, deadline_at = NULL, open_end = false,
    error = '', error_type = '', reason = '', revision = j.revision + 1
"""
_INSERT_ATTEMPTS = """
INSERT INTO tasks_jobattempt (job_id, lease, number, outcome, reason, cause, error_type, error, traceback, worker_id,
    worker, started_at, finished_at, count)
"""
_COMPLETE_ONE = f"""
WITH done AS (
    UPDATE tasks_job j SET {_SET_COMPLETED}, result = %s::jsonb, started_at = %s, finished_at = %s, updated_at = %s,
        purge_at = %s
    WHERE id = %s AND lease = %s AND state = 'running' AND cancel_reason = '' AND NOT spawned
    RETURNING id, lease, attempt, started_at, finished_at
)
{_INSERT_ATTEMPTS}
SELECT id, lease, attempt, 'complete', '', '', '', '', '', %s, %s, started_at, finished_at, %s::bigint FROM done
RETURNING job_id
"""
# Whether a job may be completed is hidden from the planner (CASE): it takes running jobs for rare, and would walk all
# of them, and all that ever ran since the last vacuum, for each one that it is to find by its id.
_COMPLETE = f"""
WITH v AS (
    SELECT * FROM unnest(%s::uuid[], %s::bigint[], %s::text[], %s::bigint[], %s::timestamptz[], %s::timestamptz[])
        AS v(id, lease, result, count, started_at, ended_at)
), done AS (
    UPDATE tasks_job j SET {_SET_COMPLETED}, result = v.result::jsonb, started_at = v.started_at,
        finished_at = v.ended_at, updated_at = v.ended_at, purge_at = v.ended_at + %s::interval
    FROM v WHERE j.id = v.id AND j.lease = v.lease
        AND CASE WHEN j.state = 'running' AND j.cancel_reason = '' THEN NOT j.spawned ELSE false END
    RETURNING j.id, j.lease, j.attempt, v.started_at, v.ended_at, v.count
)
{_INSERT_ATTEMPTS}
SELECT id, lease, attempt, 'complete', '', '', '', '', '', %s, %s, started_at, ended_at, count FROM done
RETURNING job_id
"""


def complete(
    runs: Sequence[Completed], keep: timedelta | None, worker_id: UUID | None, worker: str
) -> Callable[[], set[UUID]]:
    """Write completed runs and their attempts; called for, the jobs that were still theirs to complete, and not
    cancelled.

    ``keep``: how long the jobs are kept, None for ever.
    """
    if not runs:
        return set
    ordered = sorted(runs, key=lambda run: run.job_id.int)
    if not is_postgres():
        written = sqlite.complete(ordered, keep, worker_id, worker)
        return lambda: written
    if len(ordered) == 1:
        return _complete_one(ordered[0], keep, worker_id, worker)
    results: Any = [run.result for run in ordered]
    columns = [
        _array([run.job_id.hex for run in ordered]),
        _array([str(run.lease) for run in ordered]),
        results if any(results) else _array(["NULL"] * len(ordered)),
        _array(["NULL" if run.counted is None else str(run.counted) for run in ordered]),
        _array([run.started_at.isoformat() for run in ordered]),
        _array([run.ended_at.isoformat() for run in ordered]),
    ]
    cursor = connection.cursor()
    cursor.execute(_COMPLETE, [*columns, keep, worker_id, worker])
    return lambda: _ids(cursor)


def _ids(cursor: CursorWrapper) -> set[UUID]:
    with cursor:
        return {job_id for (job_id,) in cursor.fetchall()}


def _complete_one(
    run: Completed, keep: timedelta | None, worker_id: UUID | None, worker: str
) -> Callable[[], set[UUID]]:
    # Of fixed text and shape, so that it is planned once a connection: the arrays above are planned for each time.
    ended = run.ended_at
    cursor = prepared_cursor(connection)
    cursor.execute(
        _COMPLETE_ONE,
        [
            *[run.result, run.started_at, ended, ended, None if keep is None else ended + keep],
            *[run.job_id, run.lease, worker_id, worker, run.counted],
        ],
    )
    return lambda: _ids(cursor)


class Next(NamedTuple):
    """The run that is to begin as another ends."""

    job_id: UUID
    lease: int
    worker_id: UUID


# One UPDATE for both rows: what a statement on a job costs is mostly its beginning.
_COMPLETE_AND_START = f"""
WITH v AS (SELECT %s::uuid AS ended, %s::bigint AS lease, %s::uuid AS next, %s::bigint AS next_lease,
    %s::uuid AS worker, %s::timestamptz AS now, %s::timestamptz AS started_at, %s::timestamptz AS ended_at,
    %s::timestamptz AS purge_at, %s::jsonb AS result
), moved AS (
    UPDATE tasks_job j SET
        state = CASE WHEN j.id = v.ended THEN 'completed' ELSE 'running' END,
        worker_id = CASE WHEN j.id = v.ended THEN NULL ELSE j.worker_id END,
        pack = CASE WHEN j.id = v.ended THEN NULL ELSE j.pack END,
        slot = CASE WHEN j.id = v.ended THEN NULL ELSE j.slot END,
        result = CASE WHEN j.id = v.ended THEN v.result ELSE j.result END,
        started_at = CASE WHEN j.id = v.ended THEN v.started_at ELSE v.now END,
        finished_at = CASE WHEN j.id = v.ended THEN v.ended_at END,
        updated_at = CASE WHEN j.id = v.ended THEN v.ended_at ELSE v.now END,
        purge_at = CASE WHEN j.id = v.ended THEN v.purge_at ELSE j.purge_at END,
        first_started_at = COALESCE(j.first_started_at, v.now),
        attempt = CASE WHEN j.id = v.ended THEN j.attempt ELSE j.failures + 1 END,
        {_anew("j.id = v.next AND j.checkpoint IS NULL AND NOT j.continuing")},
        hold = '', open_end = false, deadline_at = NULL, reason = '', cause = '', error = '', error_type = '',
        revision = j.revision + 1
    FROM v WHERE j.id = ANY (ARRAY[%s, %s]::uuid[]) AND CASE
        WHEN j.id = v.ended
        THEN j.lease = v.lease AND j.state = 'running' AND j.cancel_reason = '' AND NOT j.spawned
        ELSE j.lease = v.next_lease AND j.state = 'dispatched' AND j.worker_id = v.worker END
    RETURNING j.finished_at, {", ".join(f"j.{name}" for name in STARTED)}
), recorded AS (
    {_INSERT_ATTEMPTS}
    SELECT id, lease, attempt, 'complete', '', '', '', '', '', %s, %s, started_at, finished_at, %s::bigint
    FROM moved WHERE finished_at IS NOT NULL
)
SELECT {", ".join(STARTED)} FROM moved
"""


def complete_and_start(
    run: Completed,
    keep: timedelta | None,
    worker_id: UUID | None,
    worker: str,
    following: Next,
    now: datetime,
) -> tuple[bool, Job | None]:
    """``complete`` one run and ``start`` another, in one statement where the database can: whether the first was
    completed, and the second when it has begun."""
    if not is_postgres():
        done = bool(complete([run], keep, worker_id, worker)())
        return done, start(following.job_id, following.lease, following.worker_id, now)
    ended = run.ended_at
    values = [
        *[run.job_id, run.lease, *following, now],
        *[run.started_at, ended, None if keep is None else ended + keep, run.result],
        *[run.job_id, following.job_id, worker_id, worker, run.counted],
    ]
    moved = {job.state: job for job in _jobs(_COMPLETE_AND_START, values, STARTED, prepared=True)}
    # A second message for the run that ends names the same row: it has ended, and does not start again.
    return "completed" in moved, moved.get("running")


def _array(values: Sequence[str]) -> str:
    """An array of values that need no quotes, as text; the driver's own way looks at each of them on its own."""
    return f"{{{','.join(values)}}}"
