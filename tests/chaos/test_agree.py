"""Each check of rows against file can fail: a world in order is told nothing of, one doctored line is."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from chaos import agree
from tasks.models import Job
from tasks.states import Cause, State
from tests.chaos.story import Story, at, done

Doctor = Callable[[Story], str]
"""Makes a world with one thing wrong, and gives back what must be said of it."""


def family(story: Story, *, children: int = 2, went_on: float = 5.0) -> Job:
    parent = story.job("chaos.parent", params={"children": children}, lease=2)
    story.ran(parent, (1, "start"), (1.1, "spawned"), outcome="wait")
    for n in range(2):
        child = story.job(parent_id=parent.id)
        story.ran(child, *done(2 + n, 3 + n))
    story.ran(parent, (went_on, "start"), (went_on, "gather"), (went_on + 0.1, "end"), lease=2)
    return parent


def stepping(story: Story, again: int) -> Job:
    """Killed after its second step was saved; it goes on with step ``again``."""
    job = story.job("chaos.steps", params={"count": 3}, lease=2)
    saved = [(1, "start"), (2, "step", 1), (2.1, "saved", 1), (3, "step", 2), (3.1, "saved", 2)]
    story.ran(job, *saved, outcome="lose")  # type: ignore[arg-type]
    rest = [(5.0 + n, "step", n) for n in range(again, 4)]
    story.ran(job, (5, "start"), *rest, (9, "end"), lease=2)
    return job


def retrying(story: Story) -> Job:
    job = story.job("chaos.retrying", max_attempts=3, lease=2, failures=1, params={"fails": 1})
    story.ran(job, (1, "start"), (2, "fail"), outcome="retry")
    story.ran(job, *done(3, 4), lease=2, attempt=2)
    return job


def world() -> Story:
    """One of each kind, as it should be."""
    story = Story()
    story.ran(story.job(), *done(1, 2))
    retrying(story)
    family(story)
    stepping(story, again=3)
    for key, exclusive in (("a", False), ("", True)):
        for n in range(2):
            job = story.job("chaos.keyed", concurrency_key=key, exclusive=exclusive)
            story.ran(job, *done(1 + n, 1.9 + n))
    later = story.job()
    story.accepted.due[later.id] = 3
    story.ran(later, *done(3.01, 4))
    waiting = story.job(state=State.CANCELLED, lease=0)
    story.cancel(waiting, 1)
    stopped = story.job("chaos.polite", state=State.CANCELLED)
    story.cancel(stopped, 2, running=True, lease=1)
    story.ran(stopped, (1, "start"), (2.5, "left"), outcome="stop")
    deadly = story.job("chaos.poison", state=State.FAILED, cause=Cause.CRASHED, lease=3)
    for lease in (1, 2, 3):
        story.ran(deadly, (lease, "start"), lease=lease, outcome="lose" if lease < 3 else "crash")
    frozen = story.job("chaos.polite", lease=2)
    story.frozen.append((7, 2.0, 6.0))
    story.ran(frozen, (1, "start"), (1.9, "tick"), (6.1, "left"), pid=7, outcome="lose")
    story.ran(frozen, *done(5, 7), lease=2)
    return story


def test_a_world_in_order_is_told_nothing_of() -> None:
    assert world().told() == []


# -- one end, and the right one --------------------------------------------------------------------------


def lost(story: Story) -> str:
    job = story.job()
    del story.rows[job.id]
    return f"accepted job {job.id} has no row"


def not_ended(story: Story) -> str:
    story.job(state=State.PENDING, lease=0)
    return "has not ended: it is pending"


def completed_without_a_run(story: Story) -> str:
    story.ran(story.job(), (1, "start"))
    return "that run did not end in the file"


def completed_by_another_run(story: Story) -> str:
    job = story.job(lease=2)
    story.ran(job, *done(1, 2), outcome="lose")
    story.ran(job, (3, "start"), lease=2)
    return "is completed under lease 2, but that run did not end in the file"


def completed_too_early(story: Story) -> str:
    story.ran(story.job(finished_at=at(2)), *done(1, 5))
    return "was completed 3.00 s before its work was done"


def ended_by_a_wrong_clock(story: Story) -> str:
    story.ran(story.job(finished_at=at(605)), *done(1, 5))
    return "was completed 600 s after its work was done, by the time in its row"


def cancelled_by_nobody(story: Story) -> str:
    story.job(state=State.CANCELLED, reason="by_user", lease=0)
    return "is cancelled (by_user), and nobody asked for that"


def completed_although_cancelled(story: Story) -> str:
    job = story.job()
    story.cancel(job, 1.5, running=True, lease=1)
    story.ran(job, *done(1, 2))
    return "is completed although its cancel was accepted"


def failed_without_a_cause(story: Story) -> str:
    story.job(state=State.FAILED, cause=Cause.HANDLER, error="broken", lease=0)
    return "failed: handler broken"


def failed_too_soon(story: Story) -> str:
    job = story.job("chaos.retrying", state=State.FAILED, max_attempts=3, params={"fails": 3})
    story.ran(job, (1, "start"), (2, "fail"), outcome="fail")
    return "failed before it had used its 3 attempts"


def crashed_too_soon(story: Story) -> str:
    job = story.job("chaos.poison", state=State.FAILED, cause=Cause.CRASHED)
    story.ran(job, (1, "start"), outcome="crash")
    return "failed as crashed after 1 broken runs"


def ended_twice(story: Story) -> str:
    job = story.job(lease=2)
    story.ran(job, *done(1, 2))
    story.ran(job, *done(3, 4), lease=2)
    return "ended 2 times"


# -- leases, attempts, records ---------------------------------------------------------------------------


def started_twice(story: Story) -> str:
    story.ran(story.job(), (1, "start"), (1.1, "start"), (2, "end"))
    return "started 2 times under lease 1"


def made_up_lease(story: Story) -> str:
    job = story.job()
    story.ran(job, *done(1, 2))
    story.ran(job, (3, "start"), lease=2, outcome="lose")
    return "ran under lease 2, which no row has given"


def attempt_beyond_its_budget(story: Story) -> str:
    story.ran(story.job(max_attempts=2), *done(1, 2), attempt=3)
    return "made attempt 3 of 2"


def attempts_that_differ(story: Story) -> str:
    job = retrying(story)
    story.records[job.id][1] = story.records[job.id][1]._replace(number=1)
    return "ran as attempt 2 under lease 2; its record says 1"


def failed_too_often(story: Story) -> str:
    job = story.job(max_attempts=2, lease=4)
    for lease in (1, 2, 3):
        story.ran(job, (lease, "start"), (lease + 0.5, "fail"), lease=lease, outcome="lose")
    story.ran(job, *done(4, 5), lease=4)
    return "failed 3 times with 2 attempts"


def run_without_a_record(story: Story) -> str:
    job = story.job(lease=2)
    story.ran(job, (1, "start"), outcome="")
    story.ran(job, *done(2, 3), lease=2)
    return "ran under lease 1, of which no record is left"


def ran_again_after_its_end(story: Story) -> str:
    job = story.job(lease=2)
    story.ran(job, *done(1, 2), outcome="retry")
    story.ran(job, *done(3, 4), lease=2)
    return "ran again after its run under lease 1 was done (retry)"


def charged_without_a_failure(story: Story) -> str:
    job = story.job(lease=2, max_attempts=3)
    story.ran(job, (1, "start"), outcome="retry")
    story.ran(job, *done(3, 4), lease=2)
    return "was charged a failure under lease 1, which did not fail in the file"


def counts_too_many_failures(story: Story) -> str:
    retrying(story).failures = 2
    return "counts 2 failures; its records know 1"


# -- cancels, due times, families, steps -----------------------------------------------------------------


def started_after_its_cancel(story: Story) -> str:
    job = story.job(state=State.CANCELLED)
    story.cancel(job, 1)
    story.ran(job, (1.5, "start"), (1.6, "left"), outcome="stop")
    return "started 0.500 s after its cancel"


def started_again_after_its_cancel(story: Story) -> str:
    job = story.job(state=State.CANCELLED, lease=2)
    story.cancel(job, 2, running=True, lease=1)
    story.ran(job, (1, "start"), outcome="lose")
    story.ran(job, (3, "start"), (4, "left"), lease=2, outcome="stop")
    return "started 1.000 s after its cancel"


def started_before_it_was_due(story: Story) -> str:
    job = story.job()
    story.accepted.due[job.id] = 5
    story.ran(job, *done(4, 5))
    return "started 1.000 s before it was due"


def went_on_too_early(story: Story) -> str:
    family(story, went_on=3.5)
    return "went on 0.500 s before its child"


def too_many_children(story: Story) -> str:
    family(story, children=1)
    return "has 2 children, it asked for 1"


def never_went_on(story: Story) -> str:
    parent = story.job("chaos.parent", params={"children": 0})
    story.ran(parent, *done(1, 2))
    return "its continuation did not run"


def went_on_twice(story: Story) -> str:
    parent = family(story)
    parent.lease = 3
    story.records[parent.id][1] = story.records[parent.id][1]._replace(outcome="wait")
    story.ran(parent, (6, "start"), (6, "gather"), (7, "end"), lease=3)
    return "ran again after its run under lease 2 was done (wait)"


def step_done_again(story: Story) -> str:
    stepping(story, again=2)
    return "did step 2 again, which it had saved"


def step_left_out(story: Story) -> str:
    stepping(story, again=4)
    return "is completed with the steps [1, 2] of 3"


# -- alone -----------------------------------------------------------------------------------------------


def one_key_together(story: Story) -> str:
    for n in range(2):
        story.ran(story.job(concurrency_key="a"), *done(1 + n, 2.5 + n))
    return "ran together for 0.500 s"


def one_key_together_with_a_third_between(story: Story) -> str:
    for since, until in ((1.0, 9.0), (2.0, 2.0), (3.0, 4.0)):
        story.ran(story.job(concurrency_key="b"), *done(since, until))
    return "ran together for 1.000 s"


def exclusive_together(story: Story) -> str:
    for n in range(2):
        story.ran(story.job(exclusive=True), *done(1 + n, 2.5 + n))
    return "exclusive: "


def two_runs_of_one_job_together(story: Story) -> str:
    job = story.job("chaos.polite", lease=2)
    story.ran(job, (1, "start"), (4, "left"), outcome="lose")
    story.ran(job, *done(3, 5), lease=2)
    return "ran together for 1.000 s"


def thawed_and_not_stopped(story: Story) -> str:
    job = story.job("chaos.polite", lease=2)
    story.frozen.append((9, 2.0, 6.0))
    story.ran(job, (1, "start"), (1.9, "tick"), (8.0, "left"), pid=9, outcome="lose")
    story.ran(job, *done(5, 9), lease=2)
    return "worked on for 2.00 s"


DOCTORS: tuple[Doctor, ...] = (
    lost, not_ended, completed_without_a_run, completed_by_another_run, completed_too_early, ended_by_a_wrong_clock,
    cancelled_by_nobody, completed_although_cancelled, failed_without_a_cause, failed_too_soon, crashed_too_soon,
    ended_twice, started_twice, made_up_lease, attempt_beyond_its_budget, attempts_that_differ, failed_too_often,
    run_without_a_record, ran_again_after_its_end, charged_without_a_failure, counts_too_many_failures,
    started_after_its_cancel, started_again_after_its_cancel, started_before_it_was_due, went_on_too_early,
    too_many_children, never_went_on, went_on_twice, step_done_again, step_left_out, one_key_together,
    one_key_together_with_a_third_between, exclusive_together, two_runs_of_one_job_together, thawed_and_not_stopped,
)  # fmt: skip


@pytest.mark.parametrize("doctor", DOCTORS, ids=lambda doctor: doctor.__name__)
def test_what_is_doctored_is_told(doctor: Doctor) -> None:
    story = world()
    wanted = doctor(story)
    assert any(wanted in problem for problem in story.told()), story.told()


@pytest.mark.parametrize("check", agree.CHECKS, ids=lambda check: check.__name__)
def test_each_check_has_a_world_that_it_alone_finds_out(
    check: object, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(agree, "CHECKS", tuple(one for one in agree.CHECKS if one is not check))
    missed = []
    for doctor in DOCTORS:
        story = world()
        wanted = doctor(story)
        if not any(wanted in problem for problem in story.told()):
            missed.append(doctor)
    assert missed, "no world of the list needs this check"
