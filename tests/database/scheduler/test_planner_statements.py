"""What a round costs: few statements whatever the number of slots, and plans that do not read whole tables."""

from __future__ import annotations

from collections.abc import Callable
from datetime import timedelta
from typing import Any

import pytest
from django.db import connection
from django.test.utils import CaptureQueriesContext

from jobsplatform.kernel import clock
from jobsplatform.kernel.models import Tenant
from jobsplatform.testing.platform import HandPlatform
from scheduler import cursors, edits, planner
from scheduler.models import Schedule, ScheduleState
from tasks.handlers import FunctionHandler, job
from tasks.models import Job


@pytest.fixture
def tick(jobs: HandPlatform) -> FunctionHandler:
    @job("count.tick")
    def tick(n: int = 0) -> int:
        return n

    return tick


def statements(act: Callable[[], Any]) -> list[str]:
    """What ``act`` sent to the database, without the marks of transactions."""
    with CaptureQueriesContext(connection) as seen:
        act()
    marks = ("SAVEPOINT", "RELEASE", "BEGIN", "COMMIT")
    return [q["sql"] for q in seen.captured_queries if not q["sql"].startswith(marks)]


def store(count: int, tenants: int = 0) -> None:
    """Schedules that are due a minute from now."""
    now = clock.now()
    rows = [
        Schedule(
            id=f"s{n:05}",
            job_type="count.tick",
            params={"n": n},
            trigger_type="cron",
            trigger_config={"cron": "* * * * *"},
            misfire="run_once",
            created_at=now,
            edited_at=now,
            updated_at=now,
        )
        for n in range(count)
    ]
    Schedule.objects.bulk_create(rows, batch_size=500)
    cursors.applied([row.pk for row in rows])
    ScheduleState.objects.bulk_create(
        [
            ScheduleState(
                schedule=row, last_planned_at=now, next_due_at=now + timedelta(minutes=1), revision=1
            )
            for row in rows
        ],
        batch_size=500,
    )


def test_a_look_at_nothing_due_is_one_statement(jobs: HandPlatform, tick: FunctionHandler) -> None:
    store(3)
    planner.step(clock.now())
    assert len(statements(lambda: planner.step(clock.now()))) == 1


@pytest.mark.postgres
def test_a_batch_is_a_constant_number_of_statements(jobs: HandPlatform, tick: FunctionHandler) -> None:
    store(400)
    planner.step(clock.now())
    counts = []
    for limit in (10, 10, 100, 200):
        now = clock.now() + timedelta(minutes=1)
        counts.append(len(statements(lambda limit=limit, now=now: planner.step(now, limit=limit))))
    assert Job.objects.count() == 320
    assert len(set(counts)) == 1, counts
    assert counts[0] <= 14


def test_tenants_add_no_statement_each(jobs: HandPlatform, tick: FunctionHandler) -> None:
    names = [f"t{n:03}" for n in range(60)]
    Tenant.objects.bulk_create([Tenant(tenant_id=name) for name in names])
    jobs.schedule(tick, cron="* * * * *", tenants="*")
    jobs.plan()
    jobs.advance(60)
    counts = [len(statements(lambda n=n: planner.step(clock.now(), limit=n))) for n in (10, 30)]
    assert counts[0] == counts[1]


@pytest.mark.postgres
def test_looks_use_the_indexes_made_for_them(jobs: HandPlatform, tick: FunctionHandler) -> None:
    store(3000)
    with connection.cursor() as cursor:
        cursor.execute("ANALYZE scheduler_schedule, scheduler_schedulestate")
    now = clock.now() + timedelta(minutes=1)
    ScheduleState.objects.filter(id__gt=0).exclude(schedule_id__lt="s00010").update(
        next_due_at=now + timedelta(days=1)
    )
    due = planner._due(now, None).select_for_update(skip_locked=True)[:500].explain()
    assert "state_due" in due and "Seq Scan" not in due, due
    edited = Schedule.objects.filter(edits.EDITED_OUTSIDE).order_by("id")[:200].explain()
    assert "schedule_edited" in edited and "Seq Scan" not in edited, edited
    sent = statements(cursors.next_due)
    with connection.cursor() as cursor:
        cursor.execute("EXPLAIN " + sent[0])
        plan = "\n".join(row[0] for row in cursor.fetchall())
    assert "state_due" in plan and "Seq Scan" not in plan, plan


def test_edits_outside_are_found_by_their_index_on_either_database(
    jobs: HandPlatform, tick: FunctionHandler
) -> None:
    store(50)
    (sent,) = statements(lambda: edits.adopt_all(clock.now()))
    explain = "EXPLAIN " if connection.vendor == "postgresql" else "EXPLAIN QUERY PLAN "
    with connection.cursor() as cursor:
        if connection.vendor == "postgresql":
            cursor.execute("SET LOCAL enable_seqscan = off")
        cursor.execute(explain + sent)
        plan = "\n".join(str(row) for row in cursor.fetchall())
    assert "schedule_edited" in plan, plan
