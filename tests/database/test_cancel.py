"""Cancellation: durable, cooperative, and each reason ends where it should."""

from __future__ import annotations

from datetime import timedelta

import pytest

from jobsplatform.kernel.audit import Actor
from jobsplatform.kernel.errors import JobNotFound
from jobsplatform.kernel.models import AuditEvent
from jobsplatform.testing.platform import ACTOR, HandPlatform
from tasks import control, finish, run, transitions
from tasks.context import JobContext
from tasks.events import JobMoved, RunEnded
from tasks.filters import JobFilter
from tasks.handlers import FunctionHandler, job
from tasks.models import Job
from tasks.outcomes import Ending, Fail, Retry
from tasks.states import CancelReason, State

INTERRUPTIONS = [CancelReason.PREEMPTED, CancelReason.SUSPENDED, CancelReason.SHUTDOWN]


@pytest.fixture
def cooperative() -> FunctionHandler:
    @job("cancel.cooperative")
    def cooperative(ctx: JobContext) -> str:
        ctx.checkpoint({"at": 3})
        ctx.check_cancel()
        return "done"

    return cooperative


@pytest.fixture
def deaf() -> FunctionHandler:
    @job("cancel.deaf")
    def deaf() -> str:
        return "done all the same"

    return deaf


def _running(jobs: HandPlatform, handler: FunctionHandler) -> Job:
    """Sent and begun, but its handler has not been called."""
    job_id = jobs.submit(handler)
    (claimed,) = jobs.worker.dispatch()
    run.begin(claimed.job_id, claimed.lease)
    jobs.worker.sent.clear()
    return jobs.job(job_id)


def _cancelling(jobs: HandPlatform, handler: FunctionHandler, reason: CancelReason) -> Job:
    """Run a handler that is asked to stop in the moment before its own first line."""
    job_id = jobs.submit(handler)
    (claimed,) = jobs.worker.dispatch()
    inner = jobs.make_port

    def asking(row: Job, declared: object) -> object:
        transitions.ask_to_stop(row.id, reason, jobs.clock.now())
        return inner(row, declared)  # type: ignore[arg-type]

    jobs.make_port = asking  # type: ignore[assignment]
    jobs.worker.run(claimed)
    jobs.make_port = inner
    return jobs.job(job_id)


def test_a_pending_job_is_cancelled_at_once_and_never_runs(jobs: HandPlatform, deaf: FunctionHandler) -> None:
    job_id = jobs.submit(deaf)
    result = control.cancel(job_id, actor=ACTOR)
    assert (result.how, jobs.state(job_id)) == ("cancelled", State.CANCELLED)
    assert jobs.drain() == 0
    assert AuditEvent.objects.get(action="job.cancel").target_id == str(job_id)


def test_a_sent_job_is_cancelled_at_once_and_its_message_does_nothing(
    jobs: HandPlatform, deaf: FunctionHandler
) -> None:
    job_id = jobs.submit(deaf)
    (claimed,) = jobs.worker.dispatch()
    assert control.cancel(job_id, actor=ACTOR).how == "cancelled"
    assert jobs.worker.run(claimed) is None
    assert jobs.state(job_id) is State.CANCELLED


def test_cancelled_with_no_worker_it_stays_cancelled_when_one_comes(
    jobs: HandPlatform, deaf: FunctionHandler
) -> None:
    job_id = jobs.submit(deaf)
    control.cancel(job_id, actor=ACTOR)
    jobs.add_worker()
    jobs.sweep()
    assert jobs.drain() == 0
    assert jobs.state(job_id) is State.CANCELLED


def test_cancelled_while_waiting_for_its_retry(jobs: HandPlatform) -> None:
    @job("cancel.retrying")
    def retrying() -> None:
        raise Retry(60)

    job_id = jobs.submit(retrying)
    jobs.drain()
    assert jobs.state(job_id) is State.PENDING
    assert control.cancel(job_id, actor=ACTOR).how == "cancelled"
    jobs.advance(90)
    assert jobs.drain() == 0
    assert jobs.state(job_id) is State.CANCELLED


@pytest.mark.parametrize("reason", [CancelReason.USER, CancelReason.SUPERSEDED])
def test_a_running_job_sees_its_cancel_and_ends_cancelled(
    jobs: HandPlatform, cooperative: FunctionHandler, reason: CancelReason
) -> None:
    ended = _cancelling(jobs, cooperative, reason)
    assert (ended.state, ended.reason, ended.cause) == (State.CANCELLED, str(reason), "cancelled")
    assert ended.result is None


@pytest.mark.parametrize("reason", INTERRUPTIONS)
def test_an_interrupted_job_goes_back_with_its_checkpoint_and_uses_nothing(
    jobs: HandPlatform, cooperative: FunctionHandler, reason: CancelReason
) -> None:
    back = _cancelling(jobs, cooperative, reason)
    assert (back.state, back.checkpoint, back.failures) == (State.PENDING, {"at": 3}, 0)
    assert (back.crashes, back.losses, back.cancel_reason) == (0, 0, "")
    first_start = back.first_started_at
    jobs.advance(5)
    jobs.drain()
    done = jobs.job(back.id)
    assert (done.state, done.attempt, done.first_started_at) == (State.COMPLETED, 1, first_start)


def test_a_type_may_choose_to_end_cancelled_when_interrupted(jobs: HandPlatform) -> None:
    @job("cancel.once", on_interrupt="cancel")
    def once(ctx: JobContext) -> None:
        ctx.check_cancel()

    assert _cancelling(jobs, once, CancelReason.PREEMPTED).state == State.CANCELLED


def test_a_timeout_asked_for_ends_as_a_failure(jobs: HandPlatform) -> None:
    @job("cancel.slow", max_attempts=1)
    def slow(ctx: JobContext) -> None:
        ctx.check_cancel()

    ended = _cancelling(jobs, slow, CancelReason.TIMEOUT)
    assert (ended.state, ended.cause) == (State.FAILED, "timeout")


@pytest.mark.parametrize("reason", [CancelReason.USER, CancelReason.SUPERSEDED, *INTERRUPTIONS])
def test_a_handler_that_returns_after_a_cancel_never_completes_its_job(
    jobs: HandPlatform, deaf: FunctionHandler, reason: CancelReason
) -> None:
    ended = _cancelling(jobs, deaf, reason)
    assert ended.state == (State.PENDING if reason in INTERRUPTIONS else State.CANCELLED)
    assert ended.result is None


def test_a_users_cancel_outranks_an_interruption_but_not_the_other_way(
    jobs: HandPlatform, deaf: FunctionHandler
) -> None:
    running = _running(jobs, deaf)
    now = jobs.clock.now()
    assert transitions.ask_to_stop(running.id, CancelReason.SHUTDOWN, now)
    assert control.cancel(running.id, actor=ACTOR).how == "requested"
    assert not transitions.ask_to_stop(running.id, CancelReason.PREEMPTED, now)
    assert control.cancel(running.id, actor=ACTOR).how == "already_requested"
    assert jobs.job(running.id).cancel_reason == "user"


@pytest.mark.parametrize(
    "ending", [Ending("failed"), Ending("retry"), Ending("snoozed", after=5.0), Ending("lost")]
)
def test_whatever_a_run_does_after_a_users_cancel_it_ends_cancelled(
    jobs: HandPlatform, deaf: FunctionHandler, ending: Ending
) -> None:
    running = _running(jobs, deaf)
    control.cancel(running.id, actor=ACTOR)
    finish.finish(running.id, running.lease, ending, jobs.clock.now())
    assert jobs.state(running.id) is State.CANCELLED


def test_a_kill_after_the_grace_ends_it_cancelled(jobs: HandPlatform, deaf: FunctionHandler) -> None:
    running = _running(jobs, deaf)
    control.cancel(running.id, actor=ACTOR)
    finish.killed(running.id, running.lease, jobs.clock.now(), "killed after its grace")
    ended = jobs.job(running.id)
    assert (ended.state, ended.attempts.get().error) == (State.CANCELLED, "killed after its grace")


def test_cancelling_ended_jobs_changes_nothing(jobs: HandPlatform, deaf: FunctionHandler) -> None:
    ids = [jobs.submit(deaf) for _ in range(20)]
    jobs.drain()
    before = list(Job.objects.order_by("id").values())
    assert {control.cancel(job_id, actor=ACTOR).how for job_id in ids} == {"already_ended"}
    assert list(Job.objects.order_by("id").values()) == before
    fresh = jobs.submit(deaf)
    jobs.drain()
    assert jobs.state(fresh) is State.COMPLETED


def test_an_unknown_job_is_said_so(jobs: HandPlatform) -> None:
    with pytest.raises(JobNotFound):
        control.cancel("01890a5d-ac96-774b-bcce-b302099a8057", actor=ACTOR)


def test_cascade_reaches_grandchildren_only_when_asked(
    jobs: HandPlatform, make_job: object, deaf: FunctionHandler
) -> None:
    def tree() -> list[Job]:
        parent = make_job("waiting", job_type="cancel.deaf")  # type: ignore[operator]
        child = make_job("waiting", job_type="cancel.deaf", parent_id=parent.id, child_key="a")  # type: ignore[operator]
        leaf = make_job("pending", job_type="cancel.deaf", parent_id=child.id, child_key="b")  # type: ignore[operator]
        return [parent, child, leaf]

    alone, whole = tree(), tree()
    control.cancel(alone[0].id, actor=ACTOR)
    assert [jobs.state(j.id) for j in alone] == [State.CANCELLED, State.WAITING, State.PENDING]
    result = control.cancel(whole[0].id, actor=ACTOR, cascade=True)
    assert [jobs.state(j.id) for j in whole] == [State.CANCELLED] * 3
    assert result.children == 2


def test_cancel_by_filter_in_batches_with_a_dry_run(jobs: HandPlatform, deaf: FunctionHandler) -> None:
    for n in range(7):
        jobs.submit(deaf, user_id="ann" if n < 5 else "bob")
    wanted = JobFilter(user="ann")
    assert control.cancel_by_filter(wanted, actor=ACTOR, dry_run=True) == 5
    assert Job.objects.filter(state="cancelled").count() == 0
    assert control.cancel_by_filter(wanted, actor=ACTOR, batch=2) == 5
    assert Job.objects.filter(state="cancelled", user_id="ann").count() == 5
    assert Job.objects.filter(state="pending", user_id="bob").count() == 2


def test_a_thousand_cancelled_for_tomorrow_leave_no_queue_behind(
    jobs: HandPlatform, deaf: FunctionHandler
) -> None:
    from datetime import timedelta

    from tasks import queries
    from tasks.requests import JobRequest
    from tasks.submit import submit_many

    tomorrow = jobs.clock.now() + timedelta(days=1)
    submit_many([JobRequest("cancel.deaf", run_after=tomorrow) for _ in range(1000)])
    assert control.cancel_by_filter(JobFilter(types=("cancel.deaf",)), actor=ACTOR) == 1000
    assert queries.queue_stats(jobs.clock.now()) == []


def test_one_end_one_terminal_event(jobs: HandPlatform, deaf: FunctionHandler) -> None:
    running = _running(jobs, deaf)
    control.cancel(running.id, actor=ACTOR)
    now = jobs.clock.now()
    assert finish.finish(running.id, running.lease, Ending("completed"), now) is not None
    assert finish.finish(running.id, running.lease, Ending("completed"), now) is None
    assert finish.killed(running.id, running.lease, now) is None
    final = [
        e for e in jobs.told(JobMoved) if e.job_id == running.id and e.state in ("cancelled", "completed")
    ]
    assert len(final) == 1
    assert len(jobs.told(RunEnded)) == 1


def test_fail_after_preemption_is_a_failure(jobs: HandPlatform) -> None:
    @job("cancel.broken", max_attempts=1)
    def broken() -> None:
        raise Fail("broken")

    assert _cancelling(jobs, broken, CancelReason.PREEMPTED).state == State.FAILED


def test_the_record_says_who_cancelled(jobs: HandPlatform, deaf: FunctionHandler) -> None:
    control.cancel(jobs.submit(deaf), actor=Actor("ann", "user", ip="10.0.0.9"))
    event = AuditEvent.objects.get(action="job.cancel")
    assert (event.actor, event.actor_kind, event.ip, event.before) == (
        "ann",
        "user",
        "10.0.0.9",
        {"state": "pending"},
    )


def test_a_job_cancelled_before_its_time_keeps_it_when_it_is_retried(jobs: HandPlatform) -> None:
    @job("cancel.tomorrow")
    def tomorrow() -> None:
        pass

    job_id = jobs.submit(tomorrow, run_after=jobs.clock.now() + timedelta(days=1))
    control.cancel(job_id, actor=ACTOR)
    control.retry(job_id, actor=ACTOR)
    assert jobs.drain() == 0
    jobs.advance(86_400)
    assert jobs.drain() == 1
