"""Jobs of one bulk that differ in nearly every column are stored as each was asked for."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from typing import Any

import pytest
from django.db import connection
from django.test.utils import CaptureQueriesContext

from jobsplatform.testing.platform import HandPlatform
from tasks import submit
from tasks.handlers import job
from tasks.models import Job
from tasks.requests import JobRequest

NOON = datetime(2026, 1, 1, 12, tzinfo=UTC)
OWN = ("id", "params", "data", "created_at", "updated_at")


def wish(n: int) -> JobRequest:
    """Every field that can differ does, in some of them."""
    return JobRequest(
        "mixed.other" if n % 3 == 0 else "mixed.one",
        {"n": n, "text": "quote ' \" % {} , \\ ✓" * (n % 4)},
        run_after=NOON + timedelta(seconds=n, microseconds=n) if n % 2 else None,
        priority=n % 7,
        queue=f"q{n % 3}" if n % 4 else None,
        user_id=f"user {n} ' % ✓",
        tenant_id=f"t{n % 5}" if n % 5 else "",
        max_attempts=1 + n % 9,
        origin=("live", "catch_up", "backfill", "manual")[n % 4],
        schedule_id=f"s{n}",
        planned_at=NOON + timedelta(minutes=n) if n % 6 else None,
        window_start=NOON if n % 5 == 0 else None,
        force=n % 2 == 0,
        concurrency_key=f"key {n}" if n % 3 == 1 else None,
        latest_start_at=NOON + timedelta(days=n) if n % 8 == 0 else None,
        idempotency_key=f"k{n}" if n % 2 else None,
    )


def columns(row: Job) -> dict[str, Any]:
    return {f.attname: getattr(row, f.attname) for f in Job._meta.concrete_fields if f.attname not in OWN}


def declare() -> None:
    @job("mixed.one")
    def one(n: int, text: str = "") -> None:
        return None

    @job("mixed.other", queue="elsewhere", priority=5)
    def other(n: int, text: str = "") -> None:
        return None


def test_each_is_stored_as_if_it_came_alone(jobs: HandPlatform) -> None:
    declare()
    together = submit.submit_many([wish(n) for n in range(60)])
    rows = Job.objects.in_bulk([result.id for result in together])
    assert len(rows) == 60
    Job.objects.update(schedule_id="")
    for n, result in enumerate(together):
        alone = wish(n)
        single = submit.submit(
            JobRequest(**{**{f: getattr(alone, f) for f in alone.__slots__}, "idempotency_key": None})
        )
        one, row = Job.objects.get(id=single.id), rows[result.id]
        assert row.params == one.params == dict(alone.params)
        mine, its = columns(row), columns(one)
        for name in ("request_id", "traceparent"):
            mine.pop(name), its.pop(name)
        assert mine == its, n


@pytest.mark.postgres
def test_their_number_of_statements_does_not_grow_with_them(jobs: HandPlatform) -> None:
    declare()
    counts = []
    for start, size in ((0, 20), (100, 200)):
        with CaptureQueriesContext(connection) as seen:
            submit.submit_many(
                [wish(n) for n in range(start, start + size)], tenants={f"t{n}": None for n in range(6)}
            )
        counts.append(sum("INSERT INTO tasks_job" in q["sql"] for q in seen.captured_queries))
    assert counts == [1, 1]
