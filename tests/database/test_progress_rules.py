"""Progress moves on and never back; what has ended takes no more of it; states follow the table of moves."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from jobsplatform.kernel import config
from jobsplatform.testing.platform import ACTOR, HandPlatform
from tasks import control, run, transitions
from tasks.context import JobContext
from tasks.events import JobMoved, ProgressMade
from tasks.handlers import job
from tasks.models import Job
from tasks.output import job_output
from tasks.states import ACTIVE, FINAL, MOVES, State

EVERY_WRITE = {"progress_per_second": 1_000_000}
LATE: dict[str, Callable[[Job, Any], object]] = {
    "progress": lambda row, now: transitions.progress(row.id, row.lease, 90, 100, "late", now),
    "checkpoint": lambda row, now: transitions.checkpoint(row.id, row.lease, {"late": True}, now),
    "data": lambda row, now: transitions.merge_data(row.id, row.lease, {"late": True}, now),
}


@pytest.mark.parametrize("late", LATE)
@pytest.mark.parametrize("state", sorted(State))
def test_a_late_write_changes_nothing(jobs: HandPlatform, make_job: Any, state: State, late: str) -> None:
    row = make_job(state, progress_done=100, progress_total=100, result={"ok": 1}, lease=3)
    before = Job.objects.filter(id=row.id).values().get()
    for lease in (1, 2, 4) if state == State.RUNNING else (0, 1, 2, 3, 4):
        row.lease = lease
        assert not LATE[late](row, jobs.clock.now())
    assert Job.objects.filter(id=row.id).values().get() == before
    assert jobs.told(ProgressMade) == []


@pytest.mark.parametrize("end", ["completed", "failed", "cancelled"])
def test_a_hundred_late_reports_leave_the_end_as_it_is(jobs: HandPlatform, end: str) -> None:
    contexts: list[JobContext] = []

    @job("prg.keeps", max_attempts=1)
    def keeps(context: JobContext, how: str) -> str:
        contexts.append(context)
        context.progress(50, 100, "half")
        if how == "failed":
            raise ValueError("broken")
        if how == "cancelled":
            control.cancel(context.id, actor=ACTOR)
            context.check_cancel()
        return "done"

    job_id = jobs.submit(keeps, {"how": end})
    jobs.drain()
    ended = job_output(jobs.job(job_id))
    assert ended["status"] == end
    told = len(jobs.events)
    for n in range(100):
        for late in (lambda n=n: contexts[0].progress(n % 100, 100), lambda n=n: contexts[0].checkpoint(n)):
            try:
                late()
            except BaseException as error:
                assert type(error).__name__ == "LeaseLost"
    assert job_output(jobs.job(job_id)) == ended
    assert not [e for e in jobs.events[told:] if isinstance(e, (ProgressMade, JobMoved))]


@pytest.mark.parametrize(
    "silly",
    [-1, 101, float("nan"), float("inf"), "half", 1e308, None, True, [], 10**400, b"1", {"done": 1}],
)
def test_silly_progress_does_no_harm(jobs: HandPlatform, silly: Any) -> None:
    @job("prg.silly")
    def tells(context: JobContext) -> str:
        context.progress(40, 100, "sane")
        context.progress(silly, 100)
        context.progress(50, silly, "x" * 1_000_000)
        context.progress(50, 100, "a\x00b\ud800" + "x" * 300)  # type: ignore[arg-type]
        context.progress(60, 100, silly)  # type: ignore[arg-type]
        return "done"

    with config.override(tasks=EVERY_WRITE):
        job_id = jobs.submit(tells)
        jobs.drain()
    done = jobs.job(job_id)
    assert (done.state, done.result) == (State.COMPLETED, "done"), done.error
    shown = job_output(done)["progress"]
    assert 0 <= shown["pct"] <= 100
    assert len(done.progress_label) <= 200


def test_whoever_polls_sees_known_states_in_a_legal_order(jobs: HandPlatform) -> None:
    seen: list[tuple[str, Any]] = []

    @job("prg.polled", max_attempts=3, backoff=1)
    def polled(context: JobContext) -> str:
        for n in range(5):
            context.progress(n, 5)
            look()
        if context.attempt == 1:
            raise ValueError("again")
        return "done"

    def look() -> None:
        shown = job_output(jobs.job(job_id), now=jobs.clock.now())
        assert shown["status"] is not None and shown["progress"] is not None
        seen.append((shown["status"], shown["progress"]["done"]))

    with config.override(tasks=EVERY_WRITE):
        job_id = jobs.submit(polled)
        look()
        for _ in range(4):
            for claimed in jobs.worker.dispatch():
                look()
                jobs.worker.run(claimed)
                look()
            jobs.advance(5)
            look()
    legal = {(source, move.target) for move in MOVES for source in move.sources}
    states = [state for state, _ in seen]
    for one, other in zip(states, states[1:], strict=False):
        assert one == other or (State(one), State(other)) in legal, states
    assert states[0] == "pending" and states[-1] == "completed"
    assert {"dispatched", "running"} < set(states)


def test_each_move_is_told_once_and_nothing_after_the_end(jobs: HandPlatform) -> None:
    @job("prg.told", max_attempts=2, backoff=1)
    def told(context: JobContext) -> None:
        if context.attempt == 1:
            raise ValueError("again")

    job_id = jobs.submit(told)
    jobs.drain()
    jobs.advance(5)
    jobs.drain()
    moves = [event for event in jobs.told(JobMoved) if event.job_id == job_id]
    assert [event.move for event in moves if event.move != "come_due"] == [
        "claim", "start", "retry", "claim", "start", "complete",
    ]  # fmt: skip
    assert [event.state for event in moves if event.state in FINAL] == ["completed"]
    assert all(event.state in FINAL | ACTIVE for event in moves)


def test_a_second_run_does_not_show_the_end_of_the_first(jobs: HandPlatform) -> None:
    @job("prg.again", max_attempts=1)
    def again(context: JobContext) -> None:
        context.progress(9, 10, "nearly")
        raise ValueError("no")

    job_id = jobs.submit(again)
    jobs.drain()
    control.retry(job_id, actor=ACTOR)
    assert job_output(jobs.job(job_id))["finished_at"] is None
    (claimed,) = jobs.worker.dispatch()
    run.begin(claimed.job_id, claimed.lease)
    shown = job_output(jobs.job(job_id))
    assert (shown["status"], shown["error"], shown["result"]) == ("running", None, None)
