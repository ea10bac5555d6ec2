"""A job belongs to its caller's transaction: it commits and rolls back with it, savepoints included."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterator
from typing import Any

import pytest
from asgiref.sync import sync_to_async
from django.db import IntegrityError, connection, connections, transaction
from django.http import HttpRequest, HttpResponse
from django.test import Client
from django.urls import path

from jobsplatform.kernel.errors import DuplicateJob, ParamsInvalid
from jobsplatform.kernel.models import Tenant
from jobsplatform.testing.platform import ACTOR, HandPlatform
from tasks import control, hints, submit
from tasks.context import Child, JobContext
from tasks.events import JobSubmitted
from tasks.handlers import FunctionHandler, job
from tasks.models import IdempotencyKey, Job
from tasks.outcomes import Fail
from tasks.requests import JobRequest
from tasks.states import State

pytestmark = pytest.mark.django_db(transaction=True)


class Abandoned(Exception):
    pass


@pytest.fixture
def plain(jobs: HandPlatform) -> FunctionHandler:
    @job("txn.plain")
    def plain(name: str = "") -> str:
        return name

    return plain


@pytest.fixture
def woken(monkeypatch: pytest.MonkeyPatch) -> Iterator[list[bool]]:
    """One entry for each hint to the workers; whether its transaction had committed."""
    hinted: list[bool] = []
    monkeypatch.setattr(hints, "_listeners", (lambda: hinted.append(not connection.in_atomic_block),))
    yield hinted


DOORS: dict[str, Callable[[FunctionHandler], Any]] = {
    "one": lambda handler: submit.enqueue("txn.plain", {"name": "x"}),
    "many": lambda handler: submit.submit_many([JobRequest("txn.plain") for _ in range(3)]),
    "handler": lambda handler: handler.enqueue(name="x"),
    "using": lambda handler: handler.using(dedupe_key="k", idempotency_key="i").enqueue(),
    "keyed": lambda handler: submit.enqueue("txn.plain", concurrency_key="c", dedupe_key="d"),
}


@pytest.mark.parametrize("door", DOORS)
def test_a_rollback_leaves_no_row_no_key_no_event_and_no_hint(
    jobs: HandPlatform, plain: FunctionHandler, woken: list[bool], door: str
) -> None:
    with pytest.raises(Abandoned), transaction.atomic():
        DOORS[door](plain)
        assert Job.objects.exists(), "the id is known, and the row seen, inside"
        raise Abandoned
    assert not Job.objects.exists()
    assert not IdempotencyKey.objects.exists()
    assert jobs.told(JobSubmitted) == []
    assert woken == []
    assert jobs.drain() == 0
    # The keys are free again.
    DOORS[door](plain)
    assert Job.objects.exclude(role="alias").exists()
    assert woken == [True]


@pytest.mark.parametrize("door", DOORS)
def test_events_and_hints_come_after_the_commit_and_not_before(
    jobs: HandPlatform, plain: FunctionHandler, woken: list[bool], door: str
) -> None:
    with transaction.atomic():
        DOORS[door](plain)
        assert jobs.told(JobSubmitted) == []
        assert woken == []
    assert len(jobs.told(JobSubmitted)) == Job.objects.count()
    assert woken == [True]


@pytest.mark.parametrize("door", DOORS)
def test_an_inner_rollback_takes_its_job_along_and_leaves_the_outer_one(
    jobs: HandPlatform, plain: FunctionHandler, door: str
) -> None:
    with transaction.atomic():
        outer = submit.enqueue("txn.plain", {"name": "outer"}).id
        try:
            with transaction.atomic():
                DOORS[door](plain)
                raise Abandoned
        except Abandoned:
            pass
        after = submit.enqueue("txn.plain", {"name": "after"}).id
    assert set(Job.objects.values_list("id", flat=True)) == {outer, after}
    assert [event.job_id for event in jobs.told(JobSubmitted)] == [outer, after]
    assert jobs.drain() == 2


def test_an_outer_rollback_takes_committed_savepoints_along(
    jobs: HandPlatform, plain: FunctionHandler
) -> None:
    with pytest.raises(Abandoned), transaction.atomic():
        with transaction.atomic():
            submit.enqueue("txn.plain")
        raise Abandoned
    assert not Job.objects.exists()
    assert jobs.told(JobSubmitted) == []


def test_callbacks_run_in_the_order_of_their_calls(jobs: HandPlatform, plain: FunctionHandler) -> None:
    order: list[str] = []
    with transaction.atomic():
        transaction.on_commit(lambda: order.append(f"before: {len(jobs.told(JobSubmitted))}"))
        submit.enqueue("txn.plain")
        transaction.on_commit(lambda: order.append(f"after: {len(jobs.told(JobSubmitted))}"))
    assert order == ["before: 0", "after: 1"]


def test_a_refused_job_leaves_the_callers_transaction_usable(
    jobs: HandPlatform, plain: FunctionHandler
) -> None:
    @job("txn.once", dedupe_key="k", dedupe="reject")
    def once() -> None: ...

    jobs.submit(once)
    with transaction.atomic():
        Tenant.objects.create(tenant_id="kept")
        with pytest.raises(ParamsInvalid):
            submit.enqueue("txn.plain", {"name": 5})
        with pytest.raises(DuplicateJob):
            submit.enqueue("txn.once")
        with pytest.raises(DuplicateJob):
            submit.submit_many([JobRequest("txn.plain"), JobRequest("txn.once")])
        last = submit.enqueue("txn.plain", {"name": "last"}).id
    assert Tenant.objects.filter(tenant_id="kept").exists()
    assert list(Job.objects.filter(job_type="txn.plain").values_list("id", flat=True)) == [last], (
        "of a bulk that is refused nothing is stored"
    )


def test_cancel_and_retry_belong_to_the_transaction_too(jobs: HandPlatform, plain: FunctionHandler) -> None:
    job_id = jobs.submit(plain)
    with pytest.raises(Abandoned), transaction.atomic():
        assert control.cancel(job_id, actor=ACTOR).how == "cancelled"
        raise Abandoned
    assert jobs.state(job_id) == State.PENDING
    assert jobs.drain() == 1


def test_a_handlers_rollback_takes_the_jobs_it_enqueued_along(
    jobs: HandPlatform, plain: FunctionHandler
) -> None:
    @job("txn.handler", max_attempts=1)
    def handler(context: JobContext, how: str) -> str:
        outside = submit.enqueue("txn.plain", {"name": "outside"}).id
        try:
            with transaction.atomic():
                Tenant.objects.create(tenant_id="half-done")
                submit.enqueue("txn.plain", {"name": "inside"})
                context.spawn([Child(plain, {"name": "child"}, "c")])
                if how != "commit":
                    raise Fail("stop") if how == "fail" else Abandoned
        except Abandoned:
            pass
        return str(outside)

    for how, expected in (
        ("swallow", ["outside"]),
        ("fail", ["outside"]),
        ("commit", ["child", "inside", "outside"]),
    ):
        Job.objects.all().delete()
        parent = jobs.submit(handler, {"how": how})
        jobs.drain()
        made = Job.objects.filter(job_type="txn.plain", state=State.COMPLETED)
        assert sorted(made.values_list("params__name", flat=True)) == expected, how
        assert Tenant.objects.filter(tenant_id="half-done").exists() == (how == "commit")
        assert jobs.state(parent) == (State.FAILED if how == "fail" else State.COMPLETED)


def test_a_failing_statement_of_the_caller_rolls_its_job_back(
    jobs: HandPlatform, plain: FunctionHandler
) -> None:
    Tenant.objects.create(tenant_id="taken")
    with pytest.raises(IntegrityError), transaction.atomic():
        submit.enqueue("txn.plain")
        Tenant.objects.create(tenant_id="taken")
    assert not Job.objects.exists()


def test_inline_jobs_wait_for_the_commit_too(jobs_inline: None, jobs: HandPlatform) -> None:
    seen: list[bool] = []

    @job("txn.reads")
    def reads() -> None:
        seen.append(Tenant.objects.filter(tenant_id="new").exists() and not connection.in_atomic_block)

    with transaction.atomic():
        Tenant.objects.create(tenant_id="new")
        reads.enqueue()
        assert seen == []
    assert seen == [True]
    with pytest.raises(Abandoned), transaction.atomic():
        reads.enqueue()
        raise Abandoned
    assert seen == [True]


def test_async_callers_outside_of_a_transaction_commit_at_once(
    jobs: HandPlatform, plain: FunctionHandler
) -> None:
    async def enqueues() -> list[Any]:
        try:
            one = await plain.aenqueue(name="one")
            return [one, *await plain.aenqueue_many([{"name": "two"}, {"name": "three"}])]
        finally:
            await sync_to_async(connections.close_all)()

    made = asyncio.run(enqueues())
    assert {result.id for result in made} == set(Job.objects.values_list("id", flat=True))
    assert jobs.drain() == 3


# -- ATOMIC_REQUESTS ---------------------------------------------------------------------------------


def good(request: HttpRequest) -> HttpResponse:
    submit.enqueue("txn.plain", {"name": "good"})
    return HttpResponse("ok")


def bad(request: HttpRequest) -> HttpResponse:
    submit.enqueue("txn.plain", {"name": "bad"})
    raise Abandoned


urlpatterns = [path("good", good), path("bad", bad)]


def test_a_request_that_fails_under_atomic_requests_leaves_no_job(
    jobs: HandPlatform, plain: FunctionHandler, settings: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    settings.ROOT_URLCONF = __name__
    monkeypatch.setitem(connection.settings_dict, "ATOMIC_REQUESTS", True)
    client = Client(raise_request_exception=False)
    assert client.get("/bad").status_code == 500
    assert not Job.objects.exists()
    assert client.get("/good").status_code == 200
    assert list(Job.objects.values_list("params", flat=True)) == [{"name": "good"}]
    assert jobs.drain() == 1
