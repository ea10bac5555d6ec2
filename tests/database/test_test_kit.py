"""The public test kit where docs/testing.md does not show it: what it says when a test is wrong, and crashes."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from jobsplatform.kernel import events
from jobsplatform.kernel.errors import UnknownName
from jobsplatform.testing import HandPlatform, assert_enqueued, refute_enqueued
from tasks import registry
from tasks.context import JobContext
from tasks.handlers import job
from tasks.models import Job
from tasks.states import State


def test_a_missing_job_is_told_with_what_was_enqueued(jobs: HandPlatform) -> None:
    @job("kit.add")
    def add(a: int) -> int:
        return a

    with pytest.raises(AssertionError, match="no job 'kit.add' was enqueued; nothing was enqueued"):
        assert_enqueued(add)
    add.enqueue(a=1)
    with pytest.raises(AssertionError, match="{'a': 2} was enqueued; enqueued were: kit.add {'a': 1}"):
        assert_enqueued(add, a=2)
    with pytest.raises(AssertionError, match="1 jobs 'kit.add' were enqueued, expected 2"):
        jobs.assert_enqueued(add, count=2)
    with pytest.raises(AssertionError, match="were enqueued: kit.add {'a': 1}"):
        refute_enqueued("kit.add")


def test_params_are_compared_as_json_is(jobs: HandPlatform) -> None:
    @job("kit.any", app_id="kit")
    def anything(value: object, count: int = 0) -> None: ...

    anything.enqueue(value=1, count=3)
    refute_enqueued(anything, value=True)
    assert_enqueued(anything, {"count": 3}, count=1)
    assert_enqueued("kit:kit.any", value=1)
    refute_enqueued("other:kit.any")
    refute_enqueued("kit.any", app_id="")


def test_a_job_in_any_queue_is_run(jobs: HandPlatform) -> None:
    @job("kit.mail", queue="mail")
    def mail() -> str:
        return "sent"

    assert jobs.perform(mail).result == "sent"
    assert jobs.perform(mail, queue="elsewhere").result == "sent"
    assert jobs.add_worker(queues=["default"]).view.queues == ("default",)


@pytest.mark.parametrize(
    ("at", "checkpoint", "data"),
    [("start", None, {}), ("merge", None, {"n": 1}), ("checkpoint", 7, {"n": 1}), ("end", 7, {"n": 1})],
)
def test_a_crash_leaves_what_was_saved_before_it(
    jobs: HandPlatform, at: str, checkpoint: int | None, data: dict[str, int]
) -> None:
    @job("kit.steps")
    def steps(ctx: JobContext) -> str:
        ctx.check_cancel()
        ctx.merge(n=1)
        ctx.checkpoint(7)
        return "done"

    job_id = jobs.submit(steps)
    jobs.worker.dispatch()
    lost = jobs.worker.crash(at=at)  # type: ignore[arg-type]
    assert (lost.state, lost.checkpoint, lost.data, lost.result) == (State.PENDING, checkpoint, data, None)
    assert (lost.crashes, lost.failures) == (1, 0)
    jobs.drain()
    assert jobs.job(job_id).result == "done"


def test_a_broad_except_does_not_survive_a_crash(jobs: HandPlatform) -> None:
    @job("kit.stubborn")
    def stubborn(ctx: JobContext) -> str:
        try:
            ctx.checkpoint(1)
        except BaseException:
            pass
        ctx.checkpoint(2)
        return "unreachable"

    jobs.submit(stubborn)
    jobs.worker.dispatch()
    assert jobs.worker.crash(at="checkpoint").checkpoint == 1


def test_a_crash_that_does_not_come_fails_the_test(jobs: HandPlatform) -> None:
    @job("kit.quick")
    def quick() -> None: ...

    jobs.submit(quick)
    jobs.submit(quick)
    jobs.worker.dispatch()
    with pytest.raises(UnknownName, match="Did you mean 'checkpoint'"):
        jobs.worker.crash(at="chekpoint")  # type: ignore[arg-type]
    with pytest.raises(AssertionError, match="without a call 2 of progress; nothing crashed"):
        jobs.worker.crash(at="progress", nth=2)
    jobs.worker.run()


def test_rows_take_what_their_handler_declares(jobs: HandPlatform, make_job: Callable[..., Job]) -> None:
    @job("kit.row", app_id="kit", queue="mail", priority=7, max_attempts=9)
    def row(a: int, b: int = 2) -> None: ...

    made = make_job("running", job_type=row, params={"a": 1})
    assert (made.handler_key, made.queue, made.priority, made.max_attempts) == ("kit:kit.row", "mail", 7, 9)
    assert made.params == {"a": 1, "b": 2}


@pytest.mark.parametrize("state", list(State))
def test_a_row_of_any_state_is_legal(make_job: Callable[..., Job], state: State) -> None:
    assert make_job(state).state == state


def test_handlers_of_an_inline_test_are_forgotten(jobs_inline: None) -> None:
    @job("kit.forgotten")
    def forgotten() -> None: ...

    assert registry.find("", "kit.forgotten") is not None


def test_and_they_are() -> None:
    assert registry.find("", "kit.forgotten") is None


def test_a_platform_of_an_ended_test_hears_nothing() -> None:
    class Listener:
        def __init__(self) -> None:
            self.heard: list[object] = []

        def hear(self, event: object) -> None:
            self.heard.append(event)

    listener = Listener()
    events.subscribe(str, listener.hear)
    events.deliver("one")
    events.unsubscribe(str, listener.hear)
    events.deliver("two")
    assert listener.heard == ["one"]
