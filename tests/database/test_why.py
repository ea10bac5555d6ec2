"""Why is it not running? One sentence for each cause, and it names what to look at."""

from __future__ import annotations

from datetime import timedelta
from typing import Any

import pytest

from jobsplatform.kernel import config, processes
from jobsplatform.kernel.ids import uuid7
from jobsplatform.kernel.models import App
from jobsplatform.testing.platform import ACTOR, HandPlatform
from tasks import control, finish, run, submit
from tasks.context import Child, JobContext
from tasks.handlers import FunctionHandler, job
from tasks.models import Job
from tasks.outcomes import Deferred, Discard, Fail, Pause
from tasks.states import Priority, State
from tasks.why import why_not_running

ONE = ("default",)
OPTIONS: dict[str, Any] = {"reserved_high_priority_slots": 0, "backoff_base_seconds": 60}


@pytest.fixture(autouse=True)
def short_settings() -> Any:
    with config.override(tasks=OPTIONS):
        yield


@pytest.fixture
def plain(jobs: HandPlatform) -> FunctionHandler:
    @job("why.plain")
    def plain(n: int = 0) -> int:
        return n

    return plain


def why(jobs: HandPlatform, job_id: Any) -> str:
    sentence = why_not_running(jobs.job(job_id), jobs.clock.now())
    assert sentence.endswith((".", ". ")) and "\n" not in sentence and "None" not in sentence
    return sentence


def occupy(jobs: HandPlatform, job_id: Any) -> None:
    """The worker takes this job and goes on running it."""
    (claimed,) = [c for c in jobs.worker.dispatch() if c.job_id == job_id]
    assert run.begin(claimed.job_id, claimed.lease) is not None


def test_no_worker_no_queue_no_handler(jobs: HandPlatform, plain: FunctionHandler) -> None:
    waiting, elsewhere = jobs.submit(plain), jobs.submit(plain, queue="mail")
    assert why(jobs, waiting) == "No worker is alive."
    jobs.add_worker(queues=ONE, keys=frozenset({":why.other"}))
    assert why(jobs, waiting) == "No live worker of queue 'default' knows the handler 'why.plain'."
    assert why(jobs, elsewhere) == "No live worker serves the queue 'mail' (served: default)."
    jobs.add_worker(queues=ONE)
    assert why(jobs, waiting) == "It is next in line and will start within seconds."
    jobs.clock.advance(60)
    assert why(jobs, waiting) == "No worker is alive.", "both have been silent for longer than a lease"


def test_a_worker_of_a_removed_type_does_not_count(jobs: HandPlatform, plain: FunctionHandler) -> None:
    waiting = jobs.submit(plain)
    leaving = jobs.add_worker()
    jobs.add_worker(keys=frozenset({":why.other"}))
    processes.stopping(leaving.id, jobs.clock.now())
    assert why(jobs, waiting) == "Every worker of queue 'default' that knows its handler is stopping."


def test_later_and_backoff(jobs: HandPlatform, plain: FunctionHandler) -> None:
    @job("why.fails")
    def fails() -> None:
        raise Fail("no")

    later = jobs.submit(plain, run_after=jobs.clock.now() + timedelta(hours=2))
    assert why(jobs, later) == "It is scheduled for later: 2026-01-01T14:00:00Z."
    failed = jobs.submit(fails)
    jobs.drain()
    sentence = why(jobs, failed)
    assert sentence.startswith("It is scheduled for later: 2026-01-01T12:0")
    assert "after attempt 1 failed" in sentence


@pytest.mark.parametrize(
    ("scope", "target", "words"),
    [
        ("all", "", "Everything is suspended by tester"),
        ("app", "shop", "App 'shop' is suspended by tester"),
        ("type", "shop:why.app", "Type 'shop:why.app' is suspended by tester"),
        ("queue", "default", "Queue 'default' is suspended by tester"),
    ],
)
def test_suspended(jobs: HandPlatform, scope: str, target: str, words: str) -> None:
    @job("why.app", app_id="shop")
    def of_app() -> None: ...

    jobs.add_worker()
    waiting = jobs.submit(of_app)
    until = jobs.clock.now() + timedelta(hours=1)
    control.suspend(scope, target, actor=ACTOR, reason="database is full", expires_at=until)
    assert why(jobs, waiting) == f"{words}, until 2026-01-01T13:00:00Z: database is full."
    jobs.advance(3600)
    assert "suspended" not in why(jobs, waiting)


def test_the_app_is_off_or_the_tenant_asleep(jobs: HandPlatform, plain: FunctionHandler) -> None:
    @job("why.app", app_id="shop")
    def of_app() -> None: ...

    jobs.add_worker()
    App.objects.create(app_id="shop", enabled=False)
    assert why(jobs, jobs.submit(of_app)) == "Its app 'shop' is disabled."
    before = jobs.submit(plain, tenant_id="acme")
    control.set_tenant_state("acme", "suspended", actor=ACTOR)
    for waiting in (before, jobs.submit(plain, tenant_id="acme")):
        assert why(jobs, waiting) == "Its tenant 'acme' is not active."
    assert jobs.drain() == 0


def test_a_busy_key_names_the_job_that_holds_it(jobs: HandPlatform) -> None:
    @job("why.keyed", concurrency_key="user:{n}")
    def keyed(n: int) -> int:
        return n

    holder, waiting, free = (jobs.submit(keyed, {"n": n}) for n in (1, 1, 2))
    jobs.add_worker(concurrency=8)
    occupy(jobs, holder)
    assert why(jobs, waiting) == f"Its concurrency key 'user:1' is busy: job {holder} holds it."
    assert why(jobs, free).startswith("It was sent to its worker")


@pytest.mark.parametrize("options", [{"exclusive": True}, {"max_concurrency": 1}])
def test_a_full_type_says_its_limit(jobs: HandPlatform, options: dict[str, Any]) -> None:
    @job("why.limited", **options)
    def limited() -> None: ...

    holder, waiting = jobs.submit(limited), jobs.submit(limited)
    occupy(jobs, holder)
    assert why(jobs, waiting) == "Its type runs at most 1 at once, and that many are in flight."


def test_full_and_reserved_slots(jobs: HandPlatform, plain: FunctionHandler) -> None:
    jobs.add_worker(concurrency=2)
    first, second = jobs.submit(plain), jobs.submit(plain)
    with config.override(tasks={**OPTIONS, "reserved_high_priority_slots": 1}):
        occupy(jobs, first)
        assert why(jobs, second) == (
            "The free slots of queue 'default' are reserved for priority 1000 and above."
        ), Priority.USER_ACTION
    occupy(jobs, second)
    third = jobs.submit(plain)
    assert why(jobs, third) == "All slots of queue 'default' are full (the lowest priority running is 100)."


def test_in_line_behind_others(jobs: HandPlatform, plain: FunctionHandler) -> None:
    jobs.add_worker()
    jobs.submit(plain, priority=1000)
    jobs.submit(plain)
    jobs.clock.advance(1)
    assert why(jobs, jobs.submit(plain)) == "It is in line after 2 others."


def test_aliases_and_successors(jobs: HandPlatform) -> None:
    @job("why.alias", dedupe_key="k")
    def alias() -> None: ...

    @job("why.latest", dedupe_key="k", dedupe="keep_latest")
    def latest() -> None: ...

    leader = jobs.submit(alias)
    assert why(jobs, jobs.submit(alias)) == f"It is an alias of job {leader}, which runs for it."
    jobs.submit(latest)
    assert "waits for the leader of its dedupe key" in why(jobs, jobs.submit(latest))


def test_waiting_for_children_and_for_outside(jobs: HandPlatform, plain: FunctionHandler) -> None:
    @job("why.parent")
    def parent(context: JobContext) -> None:
        context.spawn([Child(plain, {"n": n}, str(n)) for n in range(3)])

    @job("why.deferred")
    def deferred() -> None:
        raise Deferred(90)

    parent_id, outside = jobs.submit(parent), jobs.submit(deferred)
    jobs.worker.work(2)
    assert why(jobs, outside) == (
        "It waits to be finished from outside, until 2026-01-01T12:01:30Z at the latest."
    )
    assert why(jobs, parent_id) == "It waits for its children: 3 of 3 are open."
    jobs.worker.work(1)
    assert why(jobs, parent_id) == "It waits for its children: 2 of 3 are open."


def test_both_kinds_of_pause(jobs: HandPlatform) -> None:
    @job("why.pauses")
    def pauses(retryable: bool) -> None:
        raise Pause("the disk is full", retryable=retryable)

    by_hand, by_itself = (jobs.submit(pauses, {"retryable": kind}) for kind in (False, True))
    jobs.drain()
    assert why(jobs, by_hand) == (
        f"It is paused (the disk is full) until somebody runs: jobs resume {by_hand}."
    )
    assert why(jobs, by_itself).startswith("It is paused (the disk is full) until 2026-01-01T12:0")


def test_it_gave_way(jobs: HandPlatform) -> None:
    @job("why.background", priority=Priority.BACKGROUND, preemptible=True)
    def background(context: JobContext) -> None:
        control.preempt(context.id, actor=ACTOR, by=urgent)
        context.check_cancel()

    urgent = uuid7()
    yielding = jobs.submit(background)
    jobs.worker.work(1)
    assert why(jobs, yielding) == f"It gave way to job {urgent} and waits until that one has started."


def test_sent_running_and_asked_to_stop(jobs: HandPlatform, plain: FunctionHandler) -> None:
    job_id = jobs.submit(plain)
    (claimed,) = jobs.worker.dispatch()
    assert why(jobs, job_id) == "It was sent to its worker at 2026-01-01T12:00:00Z and is about to start."
    run.begin(claimed.job_id, claimed.lease)
    assert why(jobs, job_id) == "It is running since 2026-01-01T12:00:00Z."
    control.cancel(job_id, actor=ACTOR)
    assert why(jobs, job_id) == "It is running since 2026-01-01T12:00:00Z; asked to stop (user)."


def test_all_three_ends(jobs: HandPlatform) -> None:
    @job("why.ends", max_attempts=1)
    def ends(how: str) -> None:
        if how == "failed":
            raise Fail("broken")
        if how == "cancelled":
            raise Discard("not wanted")

    for how in ("completed", "failed", "cancelled"):
        job_id = jobs.submit(ends, {"how": how})
        jobs.drain()
        sentence = why(jobs, job_id)
        assert sentence.startswith(f"It has ended: {how}") and sentence.endswith("at 2026-01-01T12:00:00Z.")
        assert how != "cancelled" or "not wanted" in sentence


def test_a_lost_job_waits_like_others_and_a_lost_hint_is_no_cause(
    jobs: HandPlatform, plain: FunctionHandler
) -> None:
    job_id = jobs.submit(plain)
    worker = jobs.add_worker()
    (claimed,) = worker.dispatch()
    run.begin(claimed.job_id, claimed.lease)
    finish.lost(claimed.job_id, claimed.lease, whole_worker=True, reason="gone", now=jobs.clock.now())
    assert why(jobs, job_id) == "It is next in line and will start within seconds."
    assert jobs.state(job_id) == State.PENDING


def test_every_state_has_a_sentence(jobs: HandPlatform, make_job: Any) -> None:
    submit.submit_many([])
    for state in State:
        extra = {"open_end": True} if state == State.WAITING else {}
        extra |= {"reason": "asked"} if state == State.PAUSED else {}
        row = make_job(state, **extra)
        assert why(jobs, row.id)
    assert Job.objects.count() == len(State)
