"""What a dispatch round asks stays cheap among a great many rows that cannot start, of each kind."""

from __future__ import annotations

from collections.abc import Callable
from datetime import timedelta
from uuid import UUID

import pytest
from django.db import connection
from django.db.models import F
from django.test.utils import CaptureQueriesContext

from jobsplatform.kernel.audit import Actor
from jobsplatform.kernel.db import is_postgres
from jobsplatform.testing.platform import HandPlatform
from tasks import control, dispatch, submit
from tasks.handlers import FunctionHandler, job
from tasks.models import Job
from tasks.requests import JobRequest
from tasks.states import Priority

MANY = 20_000
HOT = ("SELECT", "WITH", "UPDATE", "INSERT", "DELETE")


@pytest.fixture
def handlers(jobs: HandPlatform) -> tuple[FunctionHandler, FunctionHandler]:
    """A type that may start, and one that is going to be suspended."""

    @job("depth.plain")
    def plain(n: int) -> None:
        pass

    @job("depth.suspended")
    def suspended(n: int) -> None:
        pass

    return plain, suspended


def multiply(job_id: UUID | None, count: int) -> None:
    """``count`` rows like this one, made by the database."""
    columns = [field.column for field in Job._meta.concrete_fields]
    made = {"id": "gen_random_uuid()", "due_at": "due_at - n * interval '1 microsecond'"}
    selected = ", ".join(made.get(column, f'"{column}"') for column in columns)
    names = ", ".join(f'"{column}"' for column in columns)
    with connection.cursor() as cursor:
        cursor.execute(
            f"INSERT INTO tasks_job ({names}) SELECT {selected} FROM tasks_job, generate_series(1, %s) n "
            "WHERE id = %s",
            [count, job_id],
        )


def due_later(plain: FunctionHandler, suspended: FunctionHandler) -> None:
    multiply(plain.using(priority=Priority.URGENT, run_after=timedelta(days=1)).enqueue(n=0).id, MANY)
    # Beside as many that are due: the planner takes the two conditions for independent, and expects to find one.
    multiply(plain.enqueue(n=0).id, MANY)


def of_a_suspended_type(plain: FunctionHandler, suspended: FunctionHandler) -> None:
    control.suspend("type", suspended.spec.key, actor=Actor.system("test"), reason="")
    multiply(suspended.using(priority=Priority.URGENT).enqueue(n=0).id, MANY)


def set_aside_for_a_busy_key(plain: FunctionHandler, suspended: FunctionHandler) -> None:
    job_id = plain.using(priority=Priority.URGENT, concurrency_key="busy").enqueue(n=0).id
    Job.objects.filter(id=job_id).update(hold="key")
    multiply(job_id, MANY)


def held_for_an_overlap(plain: FunctionHandler, suspended: FunctionHandler) -> None:
    request = JobRequest(
        plain.spec.job_type, {"n": 0}, priority=Priority.URGENT, overlap="buffer_all", overlap_key="one"
    )
    submit.submit(request)
    multiply(submit.submit(request).id, MANY)


def already_done(plain: FunctionHandler, suspended: FunctionHandler) -> None:
    job_id = plain.enqueue(n=0).id
    Job.objects.filter(id=job_id).update(state="completed", finished_at=F("created_at"))
    multiply(job_id, MANY)


KINDS = [due_later, of_a_suspended_type, set_aside_for_a_busy_key, held_for_an_overlap, already_done]


def plans(work: Callable[[], object]) -> list[str]:
    """How the database carries out each statement of ``work``, the statement itself above it."""
    with CaptureQueriesContext(connection) as asked:
        work()
    found = []
    with connection.cursor() as cursor:
        for statement in (query["sql"] for query in asked.captured_queries):
            if statement.lstrip().upper().startswith(HOT):
                cursor.execute(f"EXPLAIN {statement}")
                found.append("\n".join([statement, *(line for (line,) in cursor.fetchall())]))
    return found


@pytest.mark.parametrize("kind", KINDS)
def test_no_statement_of_a_round_reads_the_whole_table(
    jobs: HandPlatform,
    handlers: tuple[FunctionHandler, FunctionHandler],
    kind: Callable[[FunctionHandler, FunctionHandler], None],
) -> None:
    if not is_postgres():
        pytest.skip("the plans of PostgreSQL")
    plain, _ = handlers
    kind(*handlers)
    plain.enqueue_many([{"n": n} for n in range(200)])
    with connection.cursor() as cursor:
        cursor.execute("ANALYZE tasks_job")
    view = jobs.add_worker(concurrency=4).view
    sent: list[object] = []
    whole = [
        plan
        for plan in plans(lambda: dispatch.round(view, sent.append, jobs.clock.now()))
        if "Seq Scan on tasks_job " in plan
    ]
    assert whole == [], "\n\n".join(whole)
    assert sent


@pytest.mark.parametrize("same_priority", [False, True])
def test_what_may_start_starts_behind_many_of_a_busy_key(
    jobs: HandPlatform, handlers: tuple[FunctionHandler, FunctionHandler], same_priority: bool
) -> None:
    """A round may spend itself on setting a bounded number aside; the next goes on at once."""
    plain, _ = handlers
    holder = plain.using(concurrency_key="busy").enqueue(n=0)
    view = jobs.add_worker(concurrency=8).view
    dispatch.round(view, lambda claimed: None, jobs.clock.now())
    assert jobs.state(holder.id) == "dispatched"
    priority = Priority.NORMAL if same_priority else Priority.URGENT
    plain.using(priority=priority, concurrency_key="busy").enqueue_many([{"n": n} for n in range(300)])
    jobs.advance(1)
    wanted = plain.enqueue(n=1)
    rounds = 0
    while jobs.state(wanted.id) == "pending":
        more = dispatch.round(view, lambda claimed: None, jobs.clock.now()).more
        rounds += 1
        assert more or jobs.state(wanted.id) != "pending"
        assert rounds <= 2
