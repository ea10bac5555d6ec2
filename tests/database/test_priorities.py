"""Who starts next: priorities, reserved slots, fairness, preemption. Asserted in order of starts."""

from __future__ import annotations

import pytest

from jobsplatform.kernel import config
from jobsplatform.testing.platform import HandPlatform
from tasks import dispatch
from tasks.context import JobContext
from tasks.handlers import FunctionHandler, job
from tasks.models import Job
from tasks.states import Hold, Priority, State


@pytest.fixture
def work() -> FunctionHandler:
    @job("prio.work")
    def work(n: int) -> int:
        return n

    return work


@pytest.fixture
def yielding() -> FunctionHandler:
    @job("prio.yielding", preemptible=True, priority=Priority.BACKGROUND)
    def yielding(ctx: JobContext, n: int) -> int:
        ctx.check_cancel()
        return n

    return yielding


def _order(jobs: HandPlatform) -> list[int]:
    return [jobs.job(c.job_id).params["n"] for c in jobs.worker.dispatch()]


def test_the_most_urgent_starts_first_then_the_oldest(jobs: HandPlatform, work: FunctionHandler) -> None:
    jobs.add_worker(concurrency=10)
    for n, priority in enumerate([0, 100, 100, 1000, 5000, 0]):
        jobs.submit(work, {"n": n}, priority=priority)
        jobs.advance(1)
    assert _order(jobs) == [4, 3, 1, 2, 0, 5]


def test_equal_priority_is_first_in_first_out_also_beside_retries(jobs: HandPlatform) -> None:
    tried = []

    @job("prio.flaky", backoff=5.0)
    def flaky(n: int) -> None:
        tried.append(n)
        if n % 10 == 0 and tried.count(n) == 1:
            raise ValueError("once")

    jobs.add_worker(concurrency=1)
    for n in range(50):
        jobs.submit(flaky, {"n": n})
    jobs.drain()
    jobs.advance(10)
    jobs.drain()
    first = list(dict.fromkeys(tried))
    assert first == list(range(50))
    assert sorted(tried[50:]) == [0, 10, 20, 30, 40]


def test_an_urgent_job_overtakes_twenty_waiting_ones_with_one_slot(
    jobs: HandPlatform, work: FunctionHandler
) -> None:
    jobs.add_worker(concurrency=1)
    for n in range(20):
        jobs.submit(work, {"n": n}, priority=Priority.BACKGROUND)
    assert _order(jobs) == [0]
    jobs.submit(work, {"n": 99}, priority=Priority.URGENT)
    jobs.worker.run()
    assert _order(jobs) == [99]


def test_normal_jobs_leave_the_reserved_slot_to_high_ones(jobs: HandPlatform, work: FunctionHandler) -> None:
    jobs.add_worker(concurrency=4)
    for n in range(6):
        jobs.submit(work, {"n": n})
    assert _order(jobs) == [0, 1, 2]
    jobs.submit(work, {"n": 50}, priority=Priority.USER_ACTION)
    jobs.submit(work, {"n": 51}, priority=Priority.USER_ACTION)
    assert _order(jobs) == [50]


def test_a_single_slot_is_never_reserved(jobs: HandPlatform, work: FunctionHandler) -> None:
    jobs.add_worker(concurrency=1)
    jobs.submit(work, {"n": 1})
    assert _order(jobs) == [1]


def test_reserved_slots_count_over_all_workers_of_the_queue(
    jobs: HandPlatform, work: FunctionHandler
) -> None:
    first, second = jobs.add_worker(concurrency=2), jobs.add_worker(concurrency=2)
    for n in range(8):
        jobs.submit(work, {"n": n})
    assert len(first.dispatch()) == 2
    assert len(second.dispatch()) == 1  # the fourth slot is kept for high ones
    jobs.submit(work, {"n": 9}, priority=Priority.USER_ACTION)
    assert len(second.dispatch()) == 1


def test_a_configured_cap_bounds_the_queue_below_its_slots(jobs: HandPlatform, work: FunctionHandler) -> None:
    jobs.add_worker(concurrency=10)
    for n in range(8):
        jobs.submit(work, {"n": n})
    with config.override(tasks={"queue_caps": {"default": 3}}):
        assert _order(jobs) == [0, 1]


def test_background_under_endless_normal_load_starts_within_the_bound(
    jobs: HandPlatform, work: FunctionHandler
) -> None:
    jobs.add_worker(concurrency=1)
    for n in range(100):
        jobs.submit(work, {"n": n})
    background = jobs.submit(work, {"n": -1}, priority=Priority.BACKGROUND)
    waited = 0
    while jobs.state(background) is State.PENDING:
        jobs.submit(work, {"n": 1000 + waited})  # the load never ends
        for _ in jobs.worker.dispatch():
            jobs.worker.run()
        jobs.advance(1)
        waited += 1
        assert waited <= config.get().tasks.starvation_seconds
    assert jobs.state(background) is State.COMPLETED


def test_slow_slots_do_not_stretch_the_starvation_bound(jobs: HandPlatform, work: FunctionHandler) -> None:
    """With 30-second jobs the tenth claim would come far too late: the bound in seconds decides."""
    jobs.add_worker(concurrency=1)
    for n in range(50):
        jobs.submit(work, {"n": n})
    background = jobs.submit(work, {"n": -1}, priority=Priority.BACKGROUND)
    for _ in range(3):
        jobs.worker.dispatch()
        jobs.worker.run()
        jobs.advance(30)
    jobs.worker.dispatch()
    jobs.worker.run()
    assert jobs.state(background) is State.COMPLETED


def test_the_tenth_start_goes_to_the_longest_waiting(jobs: HandPlatform, work: FunctionHandler) -> None:
    jobs.add_worker(concurrency=1)
    jobs.submit(work, {"n": -1}, priority=Priority.BACKGROUND)
    for n in range(30):
        jobs.submit(work, {"n": n})
    started = []
    for _ in range(12):
        started += _order(jobs)
        jobs.worker.run()
    assert started.index(-1) == 9


def test_an_urgent_job_without_a_slot_makes_the_youngest_background_run_give_way(
    jobs: HandPlatform, work: FunctionHandler, yielding: FunctionHandler
) -> None:
    worker = jobs.add_worker(concurrency=2)
    with config.override(tasks={"reserved_high_priority_slots": 0}):
        victims = [jobs.submit(yielding, {"n": n}) for n in range(2)]
        from tasks import run

        for claimed in worker.dispatch():
            run.begin(claimed.job_id, claimed.lease)  # both are running now
            jobs.advance(1)
        urgent = jobs.submit(work, {"n": 9}, priority=Priority.USER_ACTION)
        assert worker.dispatch() == []
        asked = [v for v in victims if jobs.job(v).cancel_reason == "preempted"]
        assert asked == [victims[1]]
        worker.dispatch()
        assert Job.objects.filter(cancel_reason="preempted").count() == 1, "one gives way for one"

        from tasks import finish
        from tasks.outcomes import Ending

        victim = jobs.job(victims[1])
        finish.finish(victim.id, victim.lease, Ending("cancelled", reason="preempted"), jobs.clock.now())
        back = jobs.job(victims[1])
        assert (back.state, back.hold, back.failures) == (State.PENDING, Hold.PREEMPTED, 0)
        worker.sent.clear()
        assert [c.job_id for c in worker.dispatch()] == [urgent]
        assert jobs.job(victims[1]).hold == Hold.PREEMPTED
        worker.run()
        assert jobs.state(urgent) is State.COMPLETED
        assert jobs.job(victims[1]).hold == Hold.NONE


def test_a_job_that_is_not_preemptible_never_gives_way(jobs: HandPlatform, work: FunctionHandler) -> None:
    from tasks import run

    worker = jobs.add_worker(concurrency=1)
    jobs.submit(work, {"n": 1}, priority=Priority.BACKGROUND)
    (claimed,) = worker.dispatch()
    run.begin(claimed.job_id, claimed.lease)
    jobs.submit(work, {"n": 9}, priority=Priority.URGENT)
    worker.dispatch()
    assert jobs.job(claimed.job_id).cancel_reason == ""


def test_a_queue_with_a_free_slot_elsewhere_preempts_nobody(
    jobs: HandPlatform, work: FunctionHandler, yielding: FunctionHandler
) -> None:
    from tasks import run

    first = jobs.add_worker(concurrency=1)
    jobs.submit(yielding, {"n": 1})
    (claimed,) = first.dispatch()
    run.begin(claimed.job_id, claimed.lease)
    second = jobs.add_worker(concurrency=1)
    urgent = jobs.submit(work, {"n": 9}, priority=Priority.URGENT)
    assert first.dispatch() == []
    assert jobs.job(claimed.job_id).cancel_reason == ""
    assert [c.job_id for c in second.dispatch()] == [urgent]


@pytest.mark.parametrize("wrong", [-1, 10_000, "high", 1.5, True])
def test_a_priority_out_of_range_is_refused_never_clamped(
    jobs: HandPlatform, work: FunctionHandler, wrong: object
) -> None:
    from jobsplatform.kernel.errors import InvalidInput

    with pytest.raises(InvalidInput, match="priority"):
        jobs.submit(work, {"n": 1}, priority=wrong)
    assert not Job.objects.exists()


def test_no_priority_is_the_documented_middle(jobs: HandPlatform, work: FunctionHandler) -> None:
    assert jobs.job(jobs.submit(work, {"n": 1})).priority == Priority.NORMAL


def test_a_round_claims_no_more_than_the_batch_and_asks_for_another(
    jobs: HandPlatform, work: FunctionHandler
) -> None:
    worker = jobs.add_worker(concurrency=10)
    for n in range(8):
        jobs.submit(work, {"n": n})
    with config.override(tasks={"batch": 3}):
        rounds = [dispatch.round(worker.view, worker.send, jobs.clock.now()) for _ in range(3)]
    assert [(r.claimed, r.more) for r in rounds] == [(3, True), (3, True), (2, False)]
