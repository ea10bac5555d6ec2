"""Many ends in one statement on SQLite: the same rows as one by one, found by their ids."""

from __future__ import annotations

from datetime import datetime
from typing import Any

import pytest
from django.db import connection
from django.test.utils import CaptureQueriesContext

from jobsplatform.kernel.db import is_postgres
from jobsplatform.testing.platform import HandPlatform
from tasks import pace, submit, transitions
from tasks.handlers import job
from tasks.models import Job, JobAttempt
from tasks.outcomes import Outcome
from tasks.requests import JobRequest
from tasks.sql import sqlite
from tasks.sql.writes import Completed

VALUES: list[Any] = [
    None,
    "",
    "é 夜 \U0001f600 \\ \" ' %s ? $[0]",
    "a\nb\x01c\ud7ff",
    9_007_199_254_740_993,
    -0.0,
    1e300,
    [],
    {"a": [1, {"b": None}], "": True},
    [[["x" * 10_000]]],
]


def packed(jobs: HandPlatform, count: int) -> list[Job]:
    """Jobs of one pack, started."""
    pace.forget()
    pace.write(":ends.value", 100, 0.0001)
    submit.submit_many([JobRequest("ends.value", {"n": n}) for n in range(count)])
    message = jobs.add_worker(concurrency=1).dispatch()[0]
    assert message.pack is not None
    return transitions.start_pack(message.pack, jobs.worker.id, count, jobs.clock.now())


@pytest.fixture(autouse=True)
def handler(jobs: HandPlatform) -> None:
    @job("ends.value")
    def value(n: int) -> Any:
        return Outcome(VALUES[n % len(VALUES)], count=2**62 + n)


def test_results_and_attempts_are_written_as_they_were(jobs: HandPlatform) -> None:
    pace.forget()
    pace.write(":ends.value", 100, 0.0001)
    submit.submit_many([JobRequest("ends.value", {"n": n}) for n in range(len(VALUES))])
    jobs.add_worker(concurrency=1).work()
    rows = {row.params["n"]: row for row in Job.objects.all()}
    attempts = {row.job_id: row for row in JobAttempt.objects.filter(outcome="complete")}
    for n, value in enumerate(VALUES):
        row = rows[n]
        attempt = attempts[row.id]
        assert (row.state, row.result, row.worker_id, row.pack, row.slot) == (
            "completed",
            value,
            None,
            None,
            None,
        )
        assert (attempt.count, attempt.number, attempt.lease) == (2**62 + n, 1, row.lease)
        assert (attempt.started_at, attempt.finished_at) == (row.started_at, row.finished_at)


def test_only_runs_that_are_still_to_be_completed_are_written(jobs: HandPlatform) -> None:
    started = packed(jobs, 5)
    now = jobs.clock.now()
    Job.objects.filter(id=started[1].id).update(cancel_reason="user", cancel_requested_at=now)
    Job.objects.filter(id=started[2].id).update(spawned=True)
    Job.objects.filter(id=started[3].id).update(state="dispatched", started_at=None, dispatched_at=now)
    ends = [ended(one, lease=one.lease + (1 if n == 4 else 0), now=now) for n, one in enumerate(started)]
    assert transitions.complete_many(ends, None, jobs.worker.id, "w") == {started[0].id}
    assert JobAttempt.objects.filter(outcome="complete").count() == 1


def ended(one: Job, lease: int, now: datetime) -> Completed:
    return Completed(one.id, lease, '"x"', None, now, now)


def test_a_started_job_holds_what_its_row_holds(jobs: HandPlatform) -> None:
    for one in packed(jobs, 4):
        row = Job.objects.get(id=one.id)
        given = {name: value for name, value in one.__dict__.items() if not name.startswith("_")}
        assert given == {name: getattr(row, name) for name in given}
        assert {name: type(value) for name, value in given.items()} == {
            name: type(getattr(row, name)) for name in given
        }


def test_ends_are_found_by_their_ids(jobs: HandPlatform) -> None:
    if is_postgres():
        pytest.skip("the plan of SQLite")
    with connection.cursor() as cursor:
        cursor.execute(f"EXPLAIN QUERY PLAN {sqlite._COMPLETE}", ["[]"])
        plan = " ".join(row[3] for row in cursor.fetchall())
    assert "(id=?)" in plan


def test_a_pack_of_many_ends_is_two_statements(jobs: HandPlatform) -> None:
    if is_postgres():
        pytest.skip("SQLite's way")
    started, now = packed(jobs, 300), jobs.clock.now()
    with CaptureQueriesContext(connection) as asked:
        transitions.complete_many([ended(one, one.lease, now) for one in started], None, jobs.worker.id, "w")
    hot = [query for query in asked.captured_queries if "tasks_job" in query["sql"]]
    assert len(hot) == 2
