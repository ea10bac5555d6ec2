"""Retention: ended jobs go in small steps that nobody waits for; what is young or still needed stays."""

from __future__ import annotations

import threading
import tracemalloc
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from datetime import timedelta
from typing import Any

import pytest
from django.db import connection, connections, transaction
from django.test.utils import CaptureQueriesContext

from jobsplatform.kernel import clock, config, db, processes
from jobsplatform.kernel.audit import Actor
from jobsplatform.kernel.errors import JobNotFound
from jobsplatform.kernel.ids import uuid7
from jobsplatform.testing.platform import HandPlatform
from tasks import control, dispatch, prune, queries, registry, run, submit
from tasks.dispatch import Claimed, WorkerView
from tasks.filters import JobFilter
from tasks.handlers import job
from tasks.models import Job, JobAttempt
from tasks.output import job_output
from tasks.requests import JobRequest
from tasks.states import State
from tests.database.barriers import Gate

ACTOR = Actor("retention", "system")
BACKLOG = 20_000


def fill(count: int, *, days: float = -1, result: Any = None, attempts: bool = False) -> None:
    """``count`` completed jobs whose retention ends (has ended) in so many days."""
    now = clock.now()
    rows = [
        Job(
            id=uuid7(),
            job_type="ret.old",
            handler_key=":ret.old",
            state=State.COMPLETED,
            created_at=now,
            updated_at=now,
            due_at=now,
            started_at=now,
            finished_at=now,
            purge_at=now + timedelta(days=days),
            result=result,
        )
        for _ in range(count)
    ]
    Job.objects.bulk_create(rows, batch_size=2000)
    if db.is_postgres() and count > 1000:
        with connection.cursor() as cursor:  # as autovacuum does by itself
            cursor.execute("ANALYZE tasks_job")
    if attempts:
        JobAttempt.objects.bulk_create(
            JobAttempt(job=row, lease=1, number=1, outcome="complete", started_at=now, finished_at=now)
            for row in rows
        )


def prune_all(batch: int = 500) -> list[int]:
    """Step by step until nothing is left; what each step removed."""
    steps = []
    while removed := prune.prune(clock.now(), batch=batch):
        steps.append(removed)
    return steps


def test_it_goes_in_steps_keeps_the_young_and_a_second_time_removes_nothing(jobs: HandPlatform) -> None:
    fill(250, attempts=True)
    fill(20, days=1, attempts=True)
    young = Job.objects.filter(purge_at__gt=clock.now())
    assert prune_all(batch=100) == [100, 100, 50]
    assert prune_all(batch=100) == []
    assert Job.objects.count() == young.count() == 20
    assert JobAttempt.objects.count() == 20, "attempts go with their job, and only with it"


@pytest.mark.parametrize("state", [s for s in State if s not in ("completed", "failed", "cancelled")])
def test_what_has_not_ended_is_never_removed(jobs: HandPlatform, make_job: Any, state: State) -> None:
    row = make_job(state, purge_at=clock.now() - timedelta(days=400))
    assert prune_all() == []
    assert Job.objects.filter(id=row.id).exists()


def test_each_end_is_kept_for_as_long_as_configured(jobs: HandPlatform) -> None:
    @job("ret.ends", max_attempts=1)
    def ends(how: str) -> None:
        if how == "failed":
            raise ValueError(how)

    @job("ret.short", retention=60)
    def short() -> None: ...

    settings = {"retention_completed_days": 1, "retention_cancelled_days": 2, "retention_failed_days": 3}
    with config.override(tasks=settings):
        made = {how: jobs.submit(ends, {"how": how}) for how in ("completed", "failed", "cancelled")}
        made["short"] = jobs.submit(short)
        control.cancel(made["cancelled"], actor=ACTOR)
        jobs.drain()
        gone = []
        for seconds in (61, 86_400, 86_400, 86_400):
            jobs.advance(seconds)
            prune_all()
            gone.append({how for how, job_id in made.items() if not Job.objects.filter(id=job_id).exists()})
    assert gone == [
        {"short"},
        {"short", "completed"},
        {"short", "completed", "cancelled"},
        {"short", "completed", "cancelled", "failed"},
    ]


def test_a_removed_job_is_not_taken_for_a_pending_one(jobs: HandPlatform) -> None:
    fill(1)
    (job_id,) = Job.objects.values_list("id", flat=True)
    prune_all()
    for ask in (
        lambda: queries.get_job(job_id),
        lambda: queries.get_job(str(job_id)),
        lambda: control.cancel(job_id, actor=ACTOR),
        lambda: control.retry(job_id, actor=ACTOR),
        lambda: control.resume(job_id, actor=ACTOR),
    ):
        with pytest.raises(JobNotFound, match="its retention has passed"):
            ask()


def test_a_removed_parent_or_leader_leaves_its_jobs_readable(jobs: HandPlatform, make_job: Any) -> None:
    parent = make_job("completed", purge_at=clock.now() - timedelta(1))
    leader = make_job("completed", purge_at=clock.now() - timedelta(1), dedupe_key="k")
    child = make_job("completed", parent=parent, child_key="c", result=1)
    alias = make_job("completed", leader=leader, dedupe_key="k", role="alias")
    assert prune_all() == [2]
    shown = [job_output(queries.get_job(row.id)) for row in (child, alias)]
    assert shown[0]["parent_id"] == str(parent.id)
    assert shown[1]["status"] == "completed"
    assert len(queries.page(JobFilter()).jobs) == 2


def test_no_large_column_is_read_and_memory_stays_small(jobs: HandPlatform) -> None:
    fill(100, result="x" * 100_000)  # 10 MB
    tracemalloc.start()
    try:
        with CaptureQueriesContext(connection) as asked:
            assert prune_all(batch=50) == [50, 50]
        peak = tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()
    assert peak < 3_000_000
    for query in asked.captured_queries:
        if query["sql"].startswith("SELECT"):
            assert not any(f'"{column}"' in query["sql"] for column in queries.BIG_COLUMNS)


# -- beside workers, on real connections -------------------------------------------------------------


@pytest.fixture
def handler() -> Iterator[None]:
    with registry.preserved():

        @job("ret.work")
        def work(n: int) -> int:
            return n

        yield


def in_thread(work: Any) -> Any:
    """Run in a thread with a connection of its own, which waits for a lock at most two seconds."""

    def wrapped() -> Any:
        try:
            with connection.cursor() as cursor:
                cursor.execute("SET lock_timeout = '2s'")
            return work()
        finally:
            connections.close_all()

    return ThreadPoolExecutor(1).submit(wrapped)


def view() -> WorkerView:
    process = processes.register(
        "worker", name="w", now=clock.now(), queues=["default"], concurrency=4, handlers=registry.keys()
    )
    return WorkerView(process.id, ("default",), registry.keys(), 4)


def one_round(worker: WorkerView) -> int:
    sent: list[Claimed] = []
    dispatch.round(worker, sent.append, clock.now())
    for claimed in sent:
        assert run.run(claimed.job_id, claimed.lease, worker_id=worker.process_id) is not None
    return len(sent)


@pytest.mark.postgres
@pytest.mark.django_db(transaction=True)
def test_a_step_under_way_holds_up_no_submit_claim_run_or_cancel(handler: None) -> None:
    fill(600)
    gate = Gate()

    def removes() -> int:
        try:
            with transaction.atomic():
                removed = prune.purge(JobFilter(types=("ret.old",)), actor=ACTOR)
                gate.open("removed, not committed")
                gate.wait("others are through")
            return removed
        finally:
            gate.open("removed, not committed")

    def works() -> int:
        gate.wait("removed, not committed")
        try:
            made = submit.submit_many([JobRequest("ret.work", {"n": n}) for n in range(8)])
            assert made[-1].id is not None
            control.cancel(made[-1].id, actor=ACTOR)
            worker = view()
            while one_round(worker):
                pass
            # Another cleaner steps over what the first one holds.
            return prune.prune(clock.now(), batch=500)
        finally:
            gate.open("others are through")

    removing, working = in_thread(removes), in_thread(works)
    assert (removing.result(60), working.result(60)) == (600, 0)
    assert Job.objects.filter(job_type="ret.work", state=State.COMPLETED).count() == 7
    assert not Job.objects.filter(job_type="ret.old").exists()


@pytest.mark.postgres
@pytest.mark.django_db(transaction=True)
def test_a_row_that_somebody_holds_is_stepped_over(handler: None) -> None:
    fill(10)
    held = Job.objects.order_by("id").first()
    assert held is not None
    with transaction.atomic():
        Job.objects.select_for_update().get(id=held.id)
        assert in_thread(prune_all).result(60) == [9]
    assert prune_all() == [1]


@pytest.mark.postgres
@pytest.mark.django_db(transaction=True)
def test_a_backlog_is_cleared_while_jobs_run(handler: None) -> None:
    fill(BACKLOG)
    fill(500, days=1)
    cleared = threading.Event()
    numbers = iter(range(1_000_000))

    def works() -> int:
        worker, done = view(), 0
        while not cleared.is_set():
            submit.submit_many([JobRequest("ret.work", {"n": next(numbers)}) for _ in range(4)])
            done += one_round(worker)
        while n := one_round(worker):
            done += n
        return done

    def clears() -> list[int]:
        try:
            return prune_all(batch=1000)
        finally:
            cleared.set()

    working, clearing = in_thread(works), in_thread(clears)
    steps = clearing.result(120)
    done = working.result(120)
    assert steps == [1000] * (BACKLOG // 1000)
    assert done == Job.objects.filter(job_type="ret.work", state=State.COMPLETED).count() > 0
    assert Job.objects.filter(job_type="ret.old").count() == 500
    assert prune_all() == []
