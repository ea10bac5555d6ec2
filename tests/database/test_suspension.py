"""Suspension of everything, an app, a type or a queue: nothing new starts, and the resume is throttled."""

from __future__ import annotations

from datetime import timedelta

import pytest

from jobsplatform.kernel import config
from jobsplatform.kernel.errors import InvalidInput, UnknownName
from jobsplatform.kernel.models import AuditEvent
from jobsplatform.testing.platform import ACTOR, HandPlatform
from tasks import control, run
from tasks.handlers import FunctionHandler, job
from tasks.models import Job, Suspension
from tasks.states import State
from tasks.why import why_not_running


@pytest.fixture
def work() -> FunctionHandler:
    @job("sus.work", app_id="video", queue="films")
    def work() -> None:
        pass

    return work


@pytest.fixture
def other() -> FunctionHandler:
    @job("sus.other")
    def other() -> None:
        pass

    return other


SCOPES = [("all", ""), ("app", "video"), ("type", "video:sus.work"), ("queue", "films")]


@pytest.mark.parametrize(("scope", "target"), SCOPES)
def test_nothing_of_the_scope_starts_until_it_is_lifted(
    jobs: HandPlatform, work: FunctionHandler, other: FunctionHandler, scope: str, target: str
) -> None:
    jobs.add_worker(queues=["default", "films"])
    control.suspend(scope, target, actor=ACTOR, reason="database move")
    held, free = jobs.submit(work), jobs.submit(other)
    jobs.drain()
    assert jobs.state(held) is State.PENDING
    assert jobs.state(free) is (State.PENDING if scope == "all" else State.COMPLETED)
    sentence = why_not_running(jobs.job(held), jobs.clock.now())
    assert "suspended by tester" in sentence and "database move" in sentence
    control.unsuspend(scope, target, actor=ACTOR)
    jobs.advance(1)
    jobs.drain()
    assert jobs.state(held) is State.COMPLETED
    assert set(AuditEvent.objects.values_list("action", flat=True)) == {"suspend", "unsuspend"}


def test_what_was_sent_but_not_started_goes_back_and_its_message_does_nothing(
    jobs: HandPlatform, other: FunctionHandler
) -> None:
    job_id = jobs.submit(other)
    (claimed,) = jobs.worker.dispatch()
    control.suspend("all", actor=ACTOR)
    assert jobs.state(job_id) is State.PENDING
    assert jobs.worker.run(claimed) is None
    assert jobs.job(job_id).failures == 0


@pytest.mark.parametrize("interrupt", [True, False])
def test_running_jobs_go_on_or_are_asked_to_stop(
    jobs: HandPlatform, other: FunctionHandler, interrupt: bool
) -> None:
    job_id = jobs.submit(other)
    (claimed,) = jobs.worker.dispatch()
    run.begin(claimed.job_id, claimed.lease)
    control.suspend("type", "sus.other", actor=ACTOR, interrupt=interrupt)
    assert jobs.job(job_id).cancel_reason == ("suspended" if interrupt else "")


def test_it_expires_by_itself(jobs: HandPlatform, other: FunctionHandler) -> None:
    until = jobs.clock.now() + timedelta(minutes=5)
    control.suspend("all", actor=ACTOR, expires_at=until)
    job_id = jobs.submit(other)
    jobs.advance(299)
    jobs.drain()
    assert jobs.state(job_id) is State.PENDING
    jobs.advance(2)
    jobs.drain()
    assert jobs.state(job_id) is State.COMPLETED
    control.suspend("all", actor=ACTOR)  # the expired one does not stand in the way
    assert Suspension.objects.filter(lifted_at=None).count() == 1


def test_the_resume_is_throttled(jobs: HandPlatform, other: FunctionHandler) -> None:
    jobs.add_worker(concurrency=500)
    control.suspend("all", actor=ACTOR)
    for _ in range(100):
        jobs.submit(other)
    control.unsuspend("all", actor=ACTOR)
    with config.override(tasks={"resume_per_second": 5, "resume_ramp_seconds": 10}):
        starts = []
        for _ in range(5):
            starts.append(jobs.worker.work())
            jobs.advance(1)
        assert starts == [1, 5, 5, 5, 5]
        jobs.advance(10)
        assert jobs.worker.work() == 100 - sum(starts)


def test_suspending_twice_changes_the_one_suspension(jobs: HandPlatform) -> None:
    control.suspend("queue", "films", actor=ACTOR, reason="first")
    control.suspend("queue", "films", actor=ACTOR, reason="second")
    assert Suspension.objects.get().reason == "second"


def test_a_million_suspended_rows_are_one_hop(
    jobs: HandPlatform, work: FunctionHandler, other: FunctionHandler
) -> None:
    """The claim looks at groups, not rows: urgent suspended rows in front are not read."""
    from django.db import connection
    from django.test.utils import CaptureQueriesContext

    jobs.add_worker(queues=["default", "films"])
    control.suspend("type", "video:sus.work", actor=ACTOR)
    for _ in range(30):
        jobs.submit(work, priority=5000)
    free = jobs.submit(other, priority=0)
    with CaptureQueriesContext(
        connection,
    ) as seen:
        claimed = jobs.worker.dispatch()
    assert [c.job_id for c in claimed] == [free]
    assert not any("sus.work" in q["sql"] and "LIMIT 4" in q["sql"] for q in seen.captured_queries)


@pytest.mark.parametrize(
    ("scope", "target", "message"),
    [
        ("jobs", "", "Did you mean|Known"),
        ("type", "sus.othr", "Did you mean 'sus.other'"),
        ("all", "x", "takes no target"),
        ("queue", "", "needs the name"),
        ("queue", "a\x00b", "control characters"),
    ],
)
def test_wrong_scopes_and_targets_are_refused(
    jobs: HandPlatform, other: FunctionHandler, scope: str, target: str, message: str
) -> None:
    with pytest.raises((UnknownName, InvalidInput), match=message):
        control.suspend(scope, target, actor=ACTOR)
    assert not Suspension.objects.exists()


def test_an_expiry_in_the_past_is_refused(jobs: HandPlatform) -> None:
    with pytest.raises(InvalidInput, match="not in the future"):
        control.suspend("all", actor=ACTOR, expires_at=jobs.clock.now())


def test_lifting_what_is_not_suspended_names_what_is(jobs: HandPlatform) -> None:
    control.suspend("queue", "films", actor=ACTOR)
    with pytest.raises(UnknownName, match="queue films"):
        control.unsuspend("queue", "film", actor=ACTOR)


def test_tenants(jobs: HandPlatform, other: FunctionHandler) -> None:
    from jobsplatform.kernel.errors import TenantForbidden

    before = jobs.submit(other, tenant_id="acme")
    control.set_tenant_state("acme", "suspended", actor=ACTOR)
    meanwhile = jobs.submit(other, tenant_id="acme")
    foreign = jobs.submit(other, tenant_id="globex")
    jobs.drain()
    assert [jobs.state(j) for j in (before, meanwhile, foreign)] == [
        State.PENDING,
        State.PENDING,
        State.COMPLETED,
    ]
    assert "tenant 'acme' is not active" in why_not_running(jobs.job(meanwhile), jobs.clock.now())
    control.set_tenant_state("acme", "active", actor=ACTOR)
    jobs.drain()
    assert jobs.state(before) is State.COMPLETED and jobs.state(meanwhile) is State.COMPLETED
    control.set_tenant_state("acme", "archived", actor=ACTOR)
    with pytest.raises(TenantForbidden):
        jobs.submit(other, tenant_id="acme")
    assert Job.objects.filter(tenant_id="acme").count() == 2
