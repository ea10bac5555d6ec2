"""Packs: short jobs of a deep backlog share a message and a slot; each is still a run of its own."""

from __future__ import annotations

from typing import Any

import pytest

from jobsplatform.kernel import config
from jobsplatform.testing.platform import ACTOR, HandPlatform
from tasks import control, dispatch, finish, pace, pack, packing, run, transitions
from tasks.context import Child, JobContext
from tasks.events import JobMoved, RunEnded
from tasks.filters import JobFilter
from tasks.handlers import FunctionHandler, job
from tasks.models import Job, JobAttempt, TypePace
from tasks.outcomes import Ending, Fail, Outcome
from tasks.states import State

SHORT = 0.001


@pytest.fixture(autouse=True)
def fresh_pace() -> None:
    pace.forget()


@pytest.fixture
def short() -> FunctionHandler:
    @job("pack.short", max_attempts=2, backoff=5.0)
    def short(n: int = 0, how: str = "ok") -> Any:
        if how == "fail":
            raise Fail(f"{n} is broken")
        return Outcome(result={"n": n}, count=n)

    pace.write(short.spec.key, 100, SHORT)
    return short


def _submit(jobs: HandPlatform, handler: FunctionHandler, count: int, **fields: Any) -> list[Any]:
    return [jobs.submit(handler, {"n": n}, **fields) for n in range(count)]


def test_a_deep_backlog_is_sent_in_packs_that_take_one_slot_each(
    jobs: HandPlatform, short: FunctionHandler
) -> None:
    worker = jobs.add_worker(concurrency=2)
    with config.override(tasks={"reserved_high_priority_slots": 0}):
        ids = _submit(jobs, short, 40)
        sent = worker.dispatch()
    assert [message.jobs for message in sent] == [20, 20]
    assert Job.objects.filter(state=State.DISPATCHED).count() == 40
    assert worker.dispatch() == [], "both slots are taken"
    while worker.sent:
        worker.run()
    assert {jobs.state(job_id) for job_id in ids} == {State.COMPLETED}


def test_a_packed_job_is_a_run_of_its_own(jobs: HandPlatform, short: FunctionHandler) -> None:
    jobs.add_worker(concurrency=1)
    ids = _submit(jobs, short, 10)
    jobs.drain()
    for n, job_id in enumerate(ids):
        done = jobs.job(job_id)
        assert (done.state, done.result, done.lease, done.attempt) == (State.COMPLETED, {"n": n}, 1, 1)
        assert (done.pack, done.worker_id, done.cause, done.reason) == (None, None, "", "")
        assert done.first_started_at and done.finished_at and done.purge_at
        attempt = done.attempts.get()
        assert (attempt.outcome, attempt.lease, attempt.number, attempt.count, attempt.worker) == (
            "complete",
            1,
            1,
            n,
            "hand-0",
        )
    ended = jobs.told(RunEnded)
    assert [e.job_id for e in ended] == ids and {e.outcome for e in ended} == {"ok"}
    moves = [e.move for e in jobs.told(JobMoved) if e.job_id == ids[3]]
    assert moves[-2:] == ["start", "complete"]


def test_what_is_written_is_what_a_single_run_writes(jobs: HandPlatform, short: FunctionHandler) -> None:
    jobs.add_worker(concurrency=1)
    _submit(jobs, short, 5)
    jobs.drain()
    with config.override(tasks={"packing": False}):
        _submit(jobs, short, 5)
        jobs.drain()
    own = {"id", "params", "result", "pk", "dispatched_at", "parent_id", "leader_id"}
    packed, single = (
        dict(j) for j in (Job.objects.order_by("id").values()[0], Job.objects.order_by("-id").values()[0])
    )
    assert {k: v for k, v in packed.items() if k not in own} == {
        k: v for k, v in single.items() if k not in own
    }
    own = {"id", "job_id", "count"}
    first, last = (
        JobAttempt.objects.order_by("id").values()[0],
        JobAttempt.objects.order_by("-id").values()[0],
    )
    assert {k: v for k, v in first.items() if k not in own} == {k: v for k, v in last.items() if k not in own}


@pytest.mark.parametrize(
    "options",
    [
        {"timeout": 60.0},
        {"timeout": 60.0, "soft_timeout": 30.0},
        {"cancel_grace": 3.0},
        {"exclusive": True},
        {"max_concurrency": 3},
        {"concurrency_key": "k"},
    ],
)
def test_types_with_limits_of_their_own_are_never_packed(jobs: HandPlatform, options: dict[str, Any]) -> None:
    @job("pack.never", **options)
    def never(n: int = 0) -> None: ...

    pace.write(never.spec.key, 100, SHORT)
    jobs.add_worker(concurrency=2)
    _submit(jobs, never, 40)
    assert {message.jobs for message in jobs.worker.dispatch()} == {1}


@pytest.mark.parametrize(("runs", "mean"), [(0, 0.0), (5, SHORT), (100, 0.2)])
def test_types_not_known_to_be_short_are_sent_singly(jobs: HandPlatform, runs: int, mean: float) -> None:
    @job("pack.unknown")
    def unknown(n: int = 0) -> None: ...

    if runs:
        pace.write(unknown.spec.key, runs, mean)
    jobs.add_worker(concurrency=1)
    _submit(jobs, unknown, 40)
    assert [message.jobs for message in jobs.worker.dispatch()] == [1]


def test_packing_can_be_switched_off(jobs: HandPlatform, short: FunctionHandler) -> None:
    jobs.add_worker(concurrency=1)
    _submit(jobs, short, 40)
    with config.override(tasks={"packing": False}):
        assert {(message.jobs, message.pack) for message in jobs.worker.dispatch()} == {(1, None)}


def test_a_job_that_fails_in_a_pack_is_retried_like_any_other(
    jobs: HandPlatform, short: FunctionHandler
) -> None:
    jobs.add_worker(concurrency=1)
    good = _submit(jobs, short, 5)
    bad = jobs.submit(short, {"n": 99, "how": "fail"})
    good += _submit(jobs, short, 5)
    jobs.drain()
    assert {jobs.state(j) for j in good} == {State.COMPLETED}
    failed = jobs.job(bad)
    assert (failed.state, failed.failures, failed.error, failed.pack) == (
        State.PENDING,
        1,
        "99 is broken",
        None,
    )


def test_a_job_cancelled_before_its_turn_does_not_run(jobs: HandPlatform, short: FunctionHandler) -> None:
    jobs.add_worker(concurrency=1)
    ids = _submit(jobs, short, 10)
    jobs.worker.dispatch()
    control.cancel(ids[4], actor=ACTOR)
    jobs.worker.run()
    assert jobs.state(ids[4]) is State.CANCELLED
    assert not jobs.job(ids[4]).attempts.exists()
    assert {jobs.state(j) for n, j in enumerate(ids) if n != 4} == {State.COMPLETED}


def test_a_cancel_asked_for_during_the_run_is_not_overwritten(jobs: HandPlatform) -> None:
    ids: list[Any] = []

    @job("pack.cancelling")
    def cancelling(ctx: JobContext, n: int = 0) -> int:
        if n == 3:
            control.cancel(ctx.id, actor=ACTOR)
        return n

    pace.write(cancelling.spec.key, 100, SHORT)
    jobs.add_worker(concurrency=1)
    ids += _submit(jobs, cancelling, 8)
    jobs.drain()
    assert jobs.state(ids[3]) is State.CANCELLED
    assert [jobs.state(j) for j in ids].count(State.COMPLETED) == 7


def test_progress_checkpoint_and_children_work_inside_a_pack(
    jobs: HandPlatform, short: FunctionHandler
) -> None:
    @job("pack.rich")
    def rich(ctx: JobContext, n: int = 0) -> str:
        ctx.progress(n, 10, "half")
        ctx.checkpoint({"n": n})
        if n == 2:
            ctx.spawn([Child(short, {"n": 7}, key="a")])
        return "rich"

    pace.write(rich.spec.key, 100, SHORT)
    jobs.add_worker(concurrency=1)
    ids = _submit(jobs, rich, 6)
    jobs.worker.dispatch()
    jobs.worker.run()
    assert jobs.state(ids[2]) is State.WAITING
    assert (jobs.job(ids[1]).progress_done, jobs.job(ids[1]).checkpoint) == (1.0, {"n": 1})
    jobs.drain()
    assert {jobs.state(j) for j in ids} == {State.COMPLETED}


def test_packed_children_release_their_parent(jobs: HandPlatform, short: FunctionHandler) -> None:
    @job("pack.parent")
    def parent(ctx: JobContext) -> str:
        ctx.spawn([Child(short, {"n": n}, key=str(n)) for n in range(20)])
        return "done"

    jobs.add_worker(concurrency=1)
    job_id = jobs.submit(parent)
    jobs.drain()
    assert jobs.state(job_id) is State.COMPLETED
    assert JobAttempt.objects.count() == 21


def test_aliases_of_a_packed_leader_end_with_it(jobs: HandPlatform) -> None:
    @job("pack.keyed", dedupe_key="k{n}")
    def keyed(n: int = 0) -> int:
        return n

    pace.write(keyed.spec.key, 100, SHORT)
    jobs.add_worker(concurrency=1)
    leaders, aliases = _submit(jobs, keyed, 6), _submit(jobs, keyed, 6)
    jobs.drain()
    assert {jobs.state(j) for j in [*leaders, *aliases]} == {State.COMPLETED}


def test_a_crash_in_a_pack_charges_nobody_and_its_jobs_are_sent_singly(
    jobs: HandPlatform, short: FunctionHandler
) -> None:
    jobs.add_worker(concurrency=1)
    ids = _submit(jobs, short, 10)
    (message,) = jobs.worker.dispatch()
    assert message.pack is not None
    started = transitions.start_pack(message.pack, jobs.worker.id, 3, jobs.clock.now())
    assert len(started) == 3
    assert finish.lost_pack(message.pack, "its process died", jobs.clock.now()) == 10
    jobs.worker.sent.clear()
    for job_id in ids:
        back = jobs.job(job_id)
        assert (back.state, back.crashes, back.losses, back.failures, back.solo) == (
            State.PENDING,
            0,
            0,
            0,
            True,
        )
    assert {message.jobs for message in jobs.worker.dispatch()} == {1}
    jobs.drain()
    assert {jobs.state(j) for j in ids} == {State.COMPLETED}


def test_the_loss_of_the_whole_worker_charges_no_packed_job(
    jobs: HandPlatform, short: FunctionHandler
) -> None:
    worker = jobs.add_worker(concurrency=1)
    ids = _submit(jobs, short, 10)
    (message,) = worker.dispatch()
    assert message.pack is not None
    transitions.start_pack(message.pack, worker.id, 4, jobs.clock.now())
    worker.die()
    jobs.advance(60)
    assert jobs.rescue() == 10
    assert {(j.state, j.losses, j.pack) for j in map(jobs.job, ids)} == {(State.PENDING, 0, None)}


def test_a_pack_delivered_twice_or_to_another_worker_runs_nothing(
    jobs: HandPlatform, short: FunctionHandler
) -> None:
    jobs.add_worker(concurrency=1)
    _submit(jobs, short, 10)
    (message,) = jobs.worker.dispatch()
    assert message.pack is not None
    other = jobs.add_worker(concurrency=1)
    assert pack.run_pack(message.pack, other.id, can_kill=True) == 0
    jobs.worker.run(message)
    assert pack.run_pack(message.pack, jobs.worker.id, can_kill=True) == 0
    assert JobAttempt.objects.count() == 10


def test_those_behind_a_run_that_turns_out_long_are_given_back(
    jobs: HandPlatform, short: FunctionHandler
) -> None:
    jobs.add_worker(concurrency=1)
    ids = _submit(jobs, short, 10)
    (message,) = jobs.worker.dispatch()
    assert message.pack is not None
    running = pack.PackRun(message.pack, jobs.worker.id, jobs.make_port)
    part = running._turn(4)
    running._ready.extend(part)
    first = running._pop()
    assert first is not None
    jobs.clock.advance(pack.LONG_SECONDS)
    running.keep()
    assert jobs.state(ids[0]) is State.RUNNING
    assert {jobs.state(j) for j in ids[1:]} == {State.PENDING}
    assert running._pop() is None
    finish.finish(first.id, first.lease, Ending("completed"), jobs.clock.now())
    jobs.drain()
    assert {jobs.state(j) for j in ids[1:]} == {State.COMPLETED}


def test_a_pack_that_works_longer_than_it_was_made_for_gives_its_slot_back(
    jobs: HandPlatform, short: FunctionHandler
) -> None:
    """Each run is short enough; all of them together would hold the slot for seconds."""
    worker = jobs.add_worker(concurrency=1)
    ids = _submit(jobs, short, 20)
    (sent,) = worker.dispatch()
    assert sent.pack is not None
    running = pack.PackRun(sent.pack, worker.id, run.port_factory(False))
    running._turn(1)
    running.keep()
    assert Job.objects.filter(state=State.DISPATCHED).count() == 19, "it is in time"
    jobs.clock.advance(2 * packing.PACK_SECONDS)
    running.keep()
    assert Job.objects.filter(state=State.PENDING, solo=False, id__in=ids).count() == 19
    assert Job.objects.filter(state=State.RUNNING).count() == 1, "what has started is run to its end"


def test_a_pack_of_runs_that_turn_out_not_to_be_short_is_over_after_the_first(jobs: HandPlatform) -> None:
    @job("pack.slower")
    def slower() -> None:
        jobs.clock.advance(2 * packing.SHORT_SECONDS)

    pace.write(slower.spec.key, 100, SHORT)
    worker = jobs.add_worker(concurrency=1)
    ids = [jobs.submit(slower) for _ in range(10)]
    worker.dispatch()
    worker.run()
    assert [jobs.state(job_id) for job_id in ids] == [State.COMPLETED] + [State.PENDING] * 9
    jobs.drain()
    assert {jobs.state(job_id) for job_id in ids} == {State.COMPLETED}


def test_a_resumed_type_is_let_go_one_by_one(jobs: HandPlatform, short: FunctionHandler) -> None:
    jobs.add_worker(concurrency=2)
    control.suspend("type", "pack.short", actor=ACTOR)
    _submit(jobs, short, 40)
    control.unsuspend("type", "pack.short", actor=ACTOR)
    assert [message.jobs for message in jobs.worker.dispatch()] == [1]


def test_a_suspension_hands_back_what_a_pack_has_not_started(
    jobs: HandPlatform, short: FunctionHandler
) -> None:
    jobs.add_worker(concurrency=1)
    _submit(jobs, short, 10)
    jobs.worker.dispatch()
    control.suspend("all", actor=ACTOR)
    jobs.worker.run()
    assert Job.objects.filter(state=State.PENDING).count() == 10
    assert dispatch.claim(jobs.worker.view, jobs.clock.now()).won == []


def test_an_urgent_job_goes_before_the_packs_to_come(jobs: HandPlatform, short: FunctionHandler) -> None:
    @job("pack.urgent", priority=1000)
    def urgent() -> None: ...

    jobs.add_worker(concurrency=1)
    _submit(jobs, short, packing.MOST + 100)
    jobs.worker.dispatch()
    wanted = jobs.submit(urgent)
    jobs.worker.run()
    assert [message.job_id for message in jobs.worker.dispatch()] == [wanted]


def test_cancel_by_filter_reaches_the_packed(jobs: HandPlatform, short: FunctionHandler) -> None:
    jobs.add_worker(concurrency=1)
    _submit(jobs, short, 10)
    jobs.worker.dispatch()
    assert control.cancel_by_filter(JobFilter(types=("pack.short",)), actor=ACTOR) == 10
    jobs.worker.run()
    assert set(Job.objects.values_list("state", flat=True)) == {"cancelled"}


def test_a_clear_slow_down_counts_from_the_very_next_sample(jobs: HandPlatform) -> None:
    pace.write(":a", 1_000_000, 0.001)
    assert pace.of(":a").is_short
    pace.write(":a", 5, 0.1)
    pace.forget()
    slow = pace.of(":a")
    assert slow.mean == pytest.approx(0.1) and not slow.is_short
    for _ in range(3):  # and back again, by many runs
        pace.write(":a", 1000, 0.001)
    pace.forget()
    assert pace.of(":a").is_short


def test_the_pace_of_a_type_is_a_running_mean(jobs: HandPlatform) -> None:
    pace.write(":a", 10, 0.1)
    pace.write(":a", 10, 0.2)
    row = TypePace.objects.get()
    assert row.runs == 20 and abs(row.mean_seconds - 0.15) < 1e-9
    pace.write(":a", 1_000_000, 0.5)
    assert TypePace.objects.get().mean_seconds > 0.49, "the newest decide"


def test_runs_are_timed(jobs: HandPlatform, short: FunctionHandler) -> None:
    @job("pack.timed")
    def timed() -> None:
        jobs.clock.advance(0.25)

    jobs.submit(timed)
    jobs.drain()
    known = TypePace.objects.get(handler_key=":pack.timed")
    assert (known.runs, known.mean_seconds) == (1, 0.25)
