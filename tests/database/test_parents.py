"""Parents and children: empty, nested, failing, cancelled, crashed last child, spawned twice."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any
from uuid import UUID

import pytest
from django.db import OperationalError

from jobsplatform.testing.platform import ACTOR, HandPlatform
from tasks import control, family, queries, run
from tasks.context import Child, JobContext
from tasks.handlers import FunctionHandler, job
from tasks.models import Job
from tasks.outcomes import Fail
from tasks.states import State


@pytest.fixture
def leaf() -> FunctionHandler:
    @job("fam.leaf", max_attempts=1)
    def leaf(n: int, fail: bool = False) -> int:
        if fail:
            raise Fail(f"leaf {n} is broken")
        return n * n

    return leaf


@pytest.fixture
def parent(leaf: FunctionHandler) -> FunctionHandler:
    @job("fam.parent")
    def parent(ctx: JobContext, count: int, failing: int = 0, on_failure: str = "fail") -> str:
        children = [Child(leaf, {"n": n, "fail": n < failing}, key=str(n)) for n in range(count)]
        ctx.spawn(children, on_failure=on_failure)  # type: ignore[arg-type]
        return "spawned"

    return parent


@pytest.fixture
def totalling(leaf: FunctionHandler) -> FunctionHandler:
    @job("fam.totalling")
    def totalling(ctx: JobContext, count: int, failing: int = 0, on_failure: str = "fail") -> None:
        children = [Child(leaf, {"n": n, "fail": n < failing}, key=str(n)) for n in range(count)]
        ctx.spawn(children, on_failure=on_failure)  # type: ignore[arg-type]

    @totalling.continuation
    def total(ctx: JobContext, count: int, failing: int = 0, on_failure: str = "fail") -> dict[str, int]:
        done = [c for c in ctx.children if c.state is State.COMPLETED]
        return {"sum": sum(c.result for c in done), "failed": len(ctx.children) - len(done)}

    return totalling


def test_a_parent_waits_until_all_children_have_ended(jobs: HandPlatform, parent: FunctionHandler) -> None:
    job_id = jobs.submit(parent, {"count": 3})
    jobs.worker.dispatch()
    jobs.worker.run()
    assert (jobs.state(job_id), jobs.job(job_id).worker_id) == (State.WAITING, None)
    for left in (2, 1, 0):
        jobs.worker.dispatch()
        jobs.worker.run()
        summary = queries.children_summary(job_id)
        assert (summary["total"] - summary["done"], summary["total"]) == (left, 3)
    assert (jobs.state(job_id), jobs.job(job_id).result) == (State.COMPLETED, "spawned")


def test_a_parent_without_children_completes_at_once(jobs: HandPlatform, parent: FunctionHandler) -> None:
    job_id = jobs.submit(parent, {"count": 0})
    assert jobs.drain() == 1
    assert jobs.state(job_id) is State.COMPLETED


def test_a_waiting_parent_holds_no_slot(jobs: HandPlatform, parent: FunctionHandler) -> None:
    jobs.add_worker(concurrency=1)
    job_id = jobs.submit(parent, {"count": 2})
    jobs.drain()
    assert jobs.state(job_id) is State.COMPLETED


def test_a_failed_child_fails_the_parent_and_is_named(jobs: HandPlatform, parent: FunctionHandler) -> None:
    job_id = jobs.submit(parent, {"count": 3, "failing": 2})
    jobs.drain()
    failed = jobs.job(job_id)
    assert (failed.state, failed.cause, failed.reason) == (State.FAILED, "handler", "child failed")
    assert "2 of 3 children failed" in failed.error and "leaf 0 is broken" in failed.error


def test_by_choice_failed_children_are_ignored(jobs: HandPlatform, parent: FunctionHandler) -> None:
    job_id = jobs.submit(parent, {"count": 3, "failing": 2, "on_failure": "ignore"})
    jobs.drain()
    assert jobs.state(job_id) is State.COMPLETED


def test_the_continuation_sees_the_childrens_results(jobs: HandPlatform, totalling: FunctionHandler) -> None:
    job_id = jobs.submit(totalling, {"count": 4})
    jobs.drain()
    done = jobs.job(job_id)
    assert (done.state, done.result) == (State.COMPLETED, {"sum": 14, "failed": 0})
    assert list(done.attempts.values_list("outcome", flat=True)) == ["wait", "complete"]


def test_a_connection_that_breaks_as_the_continuation_begins_ends_no_run(
    jobs: HandPlatform, totalling: FunctionHandler, monkeypatch: pytest.MonkeyPatch
) -> None:
    real, errors = family.results, [OperationalError("server closed the connection unexpectedly")]

    def results(parent_id: UUID) -> list[dict[str, Any]]:
        if errors:
            raise errors.pop()
        return real(parent_id)

    monkeypatch.setattr(family, "results", results)
    parent = jobs.perform(totalling, {"count": 2})
    assert errors == []
    assert (parent.state, parent.losses, parent.lease) == (State.COMPLETED, 0, 2)


def test_the_continuation_runs_with_ignored_failures_too(
    jobs: HandPlatform, totalling: FunctionHandler
) -> None:
    job_id = jobs.submit(totalling, {"count": 4, "failing": 1, "on_failure": "ignore"})
    jobs.drain()
    assert jobs.job(job_id).result == {"sum": 14, "failed": 1}


def test_a_parent_that_crashes_after_spawning_gets_the_children_it_has(
    jobs: HandPlatform, leaf: FunctionHandler
) -> None:
    crashed = []

    @job("fam.crashing")
    def crashing(ctx: JobContext) -> str:
        ids = ctx.spawn([Child(leaf, {"n": n}, key=str(n)) for n in range(3)])
        crashed.append(ids)
        if len(crashed) == 1:
            raise ValueError("after the spawn")
        return "done"

    job_id = jobs.submit(crashing)
    jobs.drain()
    jobs.advance(10)
    jobs.drain()
    assert crashed[0] == crashed[1]
    assert Job.objects.filter(parent_id=job_id).count() == 3
    assert jobs.state(job_id) is State.COMPLETED


def test_nested_families(jobs: HandPlatform, parent: FunctionHandler) -> None:
    @job("fam.grand")
    def grand(ctx: JobContext) -> str:
        ctx.spawn([Child(parent, {"count": 2}, key=str(n)) for n in range(2)])
        return "grand"

    job_id = jobs.submit(grand)
    jobs.drain()
    assert jobs.state(job_id) is State.COMPLETED
    assert Job.objects.count() == 1 + 2 + 4


def test_a_failing_grandchild_fails_up_to_the_root(jobs: HandPlatform, parent: FunctionHandler) -> None:
    @job("fam.grand2")
    def grand(ctx: JobContext) -> None:
        ctx.spawn([Child(parent, {"count": 2, "failing": 1}, key="a")])

    job_id = jobs.submit(grand)
    jobs.drain()
    assert jobs.state(job_id) is State.FAILED


def test_the_crash_of_the_last_child_releases_the_parent(jobs: HandPlatform, parent: FunctionHandler) -> None:
    job_id = jobs.submit(parent, {"count": 1})
    jobs.worker.dispatch()
    jobs.worker.run()
    child = Job.objects.get(parent_id=job_id)
    for _ in range(3):
        (claimed,) = jobs.worker.dispatch()
        run.begin(claimed.job_id, claimed.lease)
        jobs.worker.sent.clear()
        jobs.kill_child(child.id)
    assert (jobs.state(child.id), jobs.job(child.id).cause) == (State.FAILED, "crashed")
    assert jobs.state(job_id) is State.FAILED


def test_a_cancelled_parent_is_not_released_by_its_children(
    jobs: HandPlatform, parent: FunctionHandler
) -> None:
    job_id = jobs.submit(parent, {"count": 2})
    jobs.worker.dispatch()
    jobs.worker.run()
    control.cancel(job_id, actor=ACTOR)
    jobs.drain()
    assert jobs.state(job_id) is State.CANCELLED
    assert set(Job.objects.filter(parent_id=job_id).values_list("state", flat=True)) == {"completed"}


def test_cancelling_the_last_open_child_releases_the_parent(
    jobs: HandPlatform, parent: FunctionHandler
) -> None:
    job_id = jobs.submit(parent, {"count": 1})
    jobs.worker.dispatch()
    jobs.worker.run()
    control.cancel(Job.objects.get(parent_id=job_id).id, actor=ACTOR)
    assert jobs.state(job_id) is State.COMPLETED, "a cancelled child is not a failed one"


def test_the_sweeper_releases_a_parent_whose_hint_was_lost(
    jobs: HandPlatform, parent: FunctionHandler, make_job: Callable[..., Job]
) -> None:
    forgotten = make_job("waiting", job_type="fam.parent")
    make_job("completed", job_type="fam.leaf", parent_id=forgotten.id, child_key="0")
    jobs.sweep()
    assert jobs.state(forgotten.id) is State.COMPLETED


def test_retrying_a_failed_parent_retries_its_failed_children(jobs: HandPlatform) -> None:
    broken = {"yes": True}

    @job("fam.fixable", max_attempts=1)
    def fixable(n: int) -> int:
        if broken["yes"] and n == 0:
            raise Fail("not yet")
        return n

    @job("fam.of_fixable")
    def of_fixable(ctx: JobContext) -> str:
        ctx.spawn([Child(fixable, {"n": n}, key=str(n)) for n in range(2)])
        return "done"

    job_id = jobs.submit(of_fixable)
    jobs.drain()
    assert jobs.state(job_id) is State.FAILED
    broken["yes"] = False
    control.retry(job_id, actor=ACTOR)
    jobs.drain()
    assert jobs.state(job_id) is State.COMPLETED
    assert Job.objects.filter(parent_id=job_id).count() == 2


def test_retention_keeps_the_children_of_an_open_parent(
    jobs: HandPlatform, parent: FunctionHandler, make_job: Callable[..., Job]
) -> None:
    waiting = make_job("waiting", job_type="fam.parent")
    make_job("completed", job_type="fam.leaf", parent_id=waiting.id, child_key="0")
    jobs.advance(40 * 86_400)
    assert jobs.prune() == 0
    jobs.sweep()
    assert jobs.prune() == 1


def test_retrying_a_cancelled_parent_takes_the_children_cancelled_with_it(
    jobs: HandPlatform, parent: FunctionHandler
) -> None:
    job_id = jobs.submit(parent, {"count": 3})
    jobs.worker.dispatch()
    jobs.worker.run()
    control.cancel(job_id, actor=ACTOR, cascade=True)
    control.retry(job_id, actor=ACTOR)
    jobs.drain()
    assert jobs.state(job_id) is State.COMPLETED
    assert set(Job.objects.filter(parent_id=job_id).values_list("state", flat=True)) == {"completed"}


def test_the_record_of_a_run_names_its_worker(jobs: HandPlatform, leaf: FunctionHandler) -> None:
    job_id = jobs.submit(leaf, {"n": 1})
    jobs.drain()
    assert jobs.job(job_id).attempts.get().worker == "hand-0"
