"""Jobs of one overlap key: policy x what occupies the key x what waits already, and every way to let the next in."""

from __future__ import annotations

from collections.abc import Callable
from datetime import timedelta
from typing import Any
from uuid import UUID

import pytest
from django.db import connection
from django.test.utils import CaptureQueriesContext

from jobsplatform.kernel import config
from jobsplatform.kernel.audit import Actor
from jobsplatform.kernel.errors import InvalidInput
from jobsplatform.kernel.models import Tenant
from jobsplatform.testing.factory import make_job
from jobsplatform.testing.platform import ACTOR, HandPlatform
from tasks import admission, control, finish, run, submit
from tasks.context import Child, JobContext
from tasks.handlers import FunctionHandler, job
from tasks.models import Job
from tasks.outcomes import Deferred, Discard, Ending, Fail, Pause, Retry
from tasks.requests import JobRequest
from tasks.states import DECIDED, Cause, Hold, Overlap, State
from tasks.why import why_not_running

KEY = "schedule:nightly:"
OCCUPIED = ["pending", "dispatched", "running", "children", "deferred", "paused", "backoff"]


@pytest.fixture(autouse=True)
def all_slots() -> Any:
    with config.override(tasks={"reserved_high_priority_slots": 0}):
        yield


@pytest.fixture
def work(jobs: HandPlatform) -> FunctionHandler:
    @job("over.child")
    def child() -> None: ...

    @job("over.work", max_attempts=2)
    def work(ctx: JobContext, how: str = "") -> Any:
        ctx.check_cancel()
        if how == "children":
            ctx.spawn([Child("over.child", {}, key="a")])
        if ctx.attempt == 1:
            raise_as(how)
        return None

    return work


def raise_as(how: str) -> None:
    match how:
        case "deferred":
            raise Deferred(600)
        case "paused":
            raise Pause("rest")
        case "backoff":
            raise Retry(after=60)
        case "fail":
            raise Fail("no", retryable=False)
        case "discard":
            raise Discard("not needed")


def slot(jobs: HandPlatform, work: FunctionHandler, policy: str, **fields: Any) -> UUID:
    return jobs.submit(work, overlap=policy, overlap_key=KEY, **fields)


def occupy(jobs: HandPlatform, work: FunctionHandler, how: str) -> UUID:
    """A first job of the key that stands as told."""
    job_id = jobs.submit(work, {"how": how}, overlap="skip", overlap_key=KEY)
    assert jobs.job(job_id).hold == Hold.NONE, "nothing is in its way"
    if how == "pending":
        return job_id
    (claimed,) = jobs.worker.dispatch()
    if how == "running":
        run.begin(claimed.job_id, claimed.lease)
        jobs.worker.sent.clear()
    elif how != "dispatched":
        jobs.worker.run()
    return job_id


def stop(jobs: HandPlatform, job_id: UUID) -> None:
    """The occupant ends by a cancel; a run sees it."""
    control.cancel(job_id, actor=ACTOR)
    left = jobs.job(job_id)
    if left.state == State.RUNNING:
        finish.finish(job_id, left.lease, Ending("cancelled"), jobs.clock.now())
    assert jobs.state(job_id) is State.CANCELLED


def standing(jobs: HandPlatform, *ids: UUID) -> list[str]:
    """How each job stands: held, free (let through), the reason of its cancel, or its state."""
    told = []
    for job_id in ids:
        row = jobs.job(job_id)
        if row.state == State.PENDING:
            told.append({Hold.NONE: "free", Hold.OVERLAP: "held"}.get(Hold(row.hold), str(row.hold)))
        else:
            told.append(row.reason if row.state == State.CANCELLED else str(row.state))
    return told


# policy: what becomes of two more jobs beside an unfinished one, and once that has ended
TABLE = {
    "skip": (["overlap", "overlap"], ["overlap", "overlap"]),
    "buffer_one": (["held", "overlap"], ["free", "overlap"]),
    "buffer_all": (["held", "held"], ["free", "held"]),
    "allow": (["free", "free"], ["free", "free"]),
}


@pytest.mark.parametrize("how", OCCUPIED)
@pytest.mark.parametrize("policy", TABLE)
def test_policy_by_what_occupies_the_key(
    jobs: HandPlatform, work: FunctionHandler, how: str, policy: str
) -> None:
    first = occupy(jobs, work, how)
    before = standing(jobs, first)
    others = [slot(jobs, work, policy), slot(jobs, work, policy)]
    beside, after = TABLE[policy]
    assert standing(jobs, *others) == beside
    assert standing(jobs, first) == before, "the occupant is left alone"
    jobs.sweep()
    assert standing(jobs, *others) == beside, "looked at again, nothing changes"
    stop(jobs, first)
    assert standing(jobs, *others) == after


@pytest.mark.parametrize("how", OCCUPIED)
def test_cancel_other_starts_the_newest_once_the_occupant_has_ended(
    jobs: HandPlatform, work: FunctionHandler, how: str
) -> None:
    first = occupy(jobs, work, how)
    second = slot(jobs, work, "cancel_other")
    if how == "running":
        assert jobs.job(first).cancel_reason == "superseded"
        third = slot(jobs, work, "cancel_other")
        assert standing(jobs, second, third) == ["overlap", "held"]
        finish.finish(first, jobs.job(first).lease, Ending("cancelled"), jobs.clock.now())
        assert standing(jobs, first, second, third) == ["superseded", "overlap", "free"]
    else:
        assert standing(jobs, first, second) == ["superseded", "free"], "what does not run ends at once"


def test_cancel_other_takes_the_children_along(jobs: HandPlatform, work: FunctionHandler) -> None:
    first = occupy(jobs, work, "children")
    (child,) = Job.objects.filter(parent_id=first)
    slot(jobs, work, "cancel_other")
    assert jobs.job(child.id).reason == "superseded"


def test_a_run_that_returns_after_it_was_asked_is_cancelled_and_the_newest_starts(
    jobs: HandPlatform, work: FunctionHandler
) -> None:
    first = occupy(jobs, work, "running")
    second = slot(jobs, work, "cancel_other")
    finish.finish(first, jobs.job(first).lease, Ending("completed"), jobs.clock.now())
    assert standing(jobs, first, second) == ["superseded", "free"]


ENDS: dict[str, Callable[[HandPlatform, Job], Any]] = {
    "completes": lambda jobs, row: finish.finish(row.id, row.lease, Ending("completed"), jobs.clock.now()),
    "fails": lambda jobs, row: finish.finish(
        row.id, row.lease, Ending("failed", retryable=False), jobs.clock.now()
    ),
    "is discarded": lambda jobs, row: finish.finish(row.id, row.lease, Ending("discarded"), jobs.clock.now()),
    "times out": lambda jobs, row: finish.finish(
        row.id, row.lease, Ending("failed", cause=Cause.TIMEOUT, retryable=False), jobs.clock.now()
    ),
    "dies once too often": lambda jobs, row: (
        Job.objects.filter(id=row.id).update(crashes=99),
        jobs.kill_child(row.id),
    ),
}


@pytest.mark.parametrize("how", ENDS)
def test_every_end_lets_the_next_in(jobs: HandPlatform, work: FunctionHandler, how: str) -> None:
    first = occupy(jobs, work, "running")
    second, third = slot(jobs, work, "buffer_all"), slot(jobs, work, "buffer_all")
    ENDS[how](jobs, jobs.job(first))
    assert jobs.job(first).finished_at is not None
    assert standing(jobs, second, third) == ["free", "held"]


@pytest.mark.parametrize("how", ["", "fail", "discard"])
def test_runs_go_one_after_the_other_in_slot_order(
    jobs: HandPlatform, work: FunctionHandler, how: str
) -> None:
    slots = [slot(jobs, work, "buffer_all", params={"how": how}) for _ in range(4)]
    order = []
    while sent := jobs.worker.dispatch():
        assert len(sent) == 1, "never two at once"
        order.append(sent[0].job_id)
        jobs.worker.run()
    assert order == slots


def test_the_last_child_lets_the_next_in(jobs: HandPlatform, work: FunctionHandler) -> None:
    first = occupy(jobs, work, "children")
    second = slot(jobs, work, "buffer_one")
    assert standing(jobs, first, second) == ["waiting", "held"]
    jobs.worker.work(1)
    assert standing(jobs, first, second) == ["completed", "free"]


def test_an_end_from_outside_lets_the_next_in(jobs: HandPlatform, work: FunctionHandler) -> None:
    first = occupy(jobs, work, "deferred")
    second = slot(jobs, work, "buffer_one")
    finish.from_outside(first, jobs.job(first).lease, Ending("completed"), jobs.clock.now())
    assert standing(jobs, first, second) == ["completed", "free"]


def test_a_lost_worker_is_not_an_end_and_its_job_goes_on(jobs: HandPlatform, work: FunctionHandler) -> None:
    first = occupy(jobs, work, "running")
    second = slot(jobs, work, "buffer_one")
    jobs.worker.die()
    jobs.clock.advance(3600)
    assert jobs.rescue() == 1
    assert standing(jobs, first, second) == ["free", "held"]
    assert [c.job_id for c in jobs.add_worker().dispatch()] == [first]


def test_a_backoff_keeps_its_place(jobs: HandPlatform, work: FunctionHandler) -> None:
    first = occupy(jobs, work, "backoff")
    second = slot(jobs, work, "buffer_all")
    jobs.advance(61)
    assert [c.job_id for c in jobs.worker.dispatch()] == [first], "let through once, it is not decided anew"
    assert standing(jobs, second) == ["held"]
    jobs.worker.run()
    assert standing(jobs, first, second) == ["completed", "free"]


def test_a_slot_for_later_is_decided_when_its_time_has_come(
    jobs: HandPlatform, work: FunctionHandler
) -> None:
    due = jobs.clock.now() + timedelta(seconds=30)
    later = slot(jobs, work, "skip", run_after=due)
    first = occupy(jobs, work, "running")
    assert standing(jobs, later) == ["later"], "it neither occupies the key nor is it decided before its time"
    jobs.advance(31)
    jobs.worker.dispatch()
    assert standing(jobs, later) == ["overlap"]

    calm = slot(jobs, work, "skip", run_after=jobs.clock.now() + timedelta(seconds=30))
    stop(jobs, first)
    jobs.advance(31)
    assert [c.job_id for c in jobs.worker.dispatch()] == [calm]


def test_a_tenant_that_sleeps_has_its_slots_decided_when_it_wakes(
    jobs: HandPlatform, work: FunctionHandler
) -> None:
    Tenant.objects.create(tenant_id="t", state=Tenant.State.SUSPENDED)
    first, second = (slot(jobs, work, "buffer_all", tenant_id="t") for _ in range(2))
    assert standing(jobs, first, second) == ["tenant", "tenant"]
    control.set_tenant_state("t", "active", actor=ACTOR)
    assert standing(jobs, first, second) == ["free", "held"]


def test_a_suspended_type_keeps_the_key_occupied(jobs: HandPlatform, work: FunctionHandler) -> None:
    control.suspend("type", work.spec.key, actor=ACTOR)
    first, second = slot(jobs, work, "skip"), slot(jobs, work, "skip")
    assert standing(jobs, first, second) == ["free", "overlap"]


def test_an_alias_never_starts_and_so_does_not_overlap(jobs: HandPlatform, work: FunctionHandler) -> None:
    first = slot(jobs, work, "skip", dedupe_key="d")
    second = slot(jobs, work, "skip", dedupe_key="d")
    assert standing(jobs, first, second) == ["free", "alias"], "dedupe comes first"
    third = slot(jobs, work, "buffer_one")
    jobs.drain()
    assert standing(jobs, first, second, third) == ["completed"] * 3


def test_an_alias_that_takes_over_is_decided_like_others(jobs: HandPlatform, work: FunctionHandler) -> None:
    occupant = occupy(jobs, work, "running")
    leader = slot(jobs, work, "buffer_one", dedupe_key="d")
    alias = slot(jobs, work, "buffer_all", dedupe_key="d")
    control.cancel(leader, actor=ACTOR)
    assert standing(jobs, leader, alias) == ["user", "held"]
    stop(jobs, occupant)
    assert standing(jobs, alias) == ["free"]


def test_a_leader_that_overlap_cancels_leaves_its_place_to_its_alias(
    jobs: HandPlatform, work: FunctionHandler
) -> None:
    """Somebody's own request, mirrored by a slot's job, is not to end with that slot."""
    occupant = occupy(jobs, work, "running")
    leader = slot(jobs, work, "buffer_one", dedupe_key="d")
    mine = jobs.submit(work, dedupe_key="d")
    slot(jobs, work, "cancel_other")
    assert standing(jobs, leader, mine) == ["overlap", "free"]
    assert jobs.state(occupant) is State.RUNNING


def test_a_retry_by_hand_is_decided_anew(jobs: HandPlatform, work: FunctionHandler) -> None:
    first = occupy(jobs, work, "running")
    skipped, buffered = slot(jobs, work, "skip"), slot(jobs, work, "buffer_one")
    control.cancel(buffered, actor=ACTOR)
    control.retry(skipped, actor=ACTOR)
    control.retry(buffered, actor=ACTOR)
    assert standing(jobs, skipped, buffered) == ["overlap", "held"]
    stop(jobs, first)
    control.retry(first, actor=ACTOR)
    assert standing(jobs, buffered) == ["free"]
    assert standing(jobs, first) == ["overlap"], "the one that waited is in"


def test_keys_know_nothing_of_each_other(jobs: HandPlatform, work: FunctionHandler) -> None:
    occupy(jobs, work, "running")
    assert standing(jobs, jobs.submit(work, overlap="skip", overlap_key=KEY + "other")) == ["free"]


def test_the_sweeper_finds_what_a_lost_hint_left(jobs: HandPlatform, work: FunctionHandler) -> None:
    held: dict[str, Any] = {"hold": Hold.OVERLAP, "job_type": work}
    free = [make_job(overlap="buffer_all", overlap_key="free", **held).id for _ in range(2)]
    make_job(State.RUNNING, job_type=work, overlap="skip", overlap_key="busy")
    hasty = make_job(overlap="skip", overlap_key="busy", **held).id
    patient = make_job(overlap="buffer_all", overlap_key="busy", **held).id
    jobs.sweep()
    assert standing(jobs, *free, hasty, patient) == ["free", "held", "overlap", "held"]


def test_a_sweep_of_keys_that_are_rightly_held_changes_nothing(
    jobs: HandPlatform, work: FunctionHandler
) -> None:
    occupy(jobs, work, "running")
    slot(jobs, work, "buffer_one")
    assert admission.sweep(jobs.clock.now()) == 0


def test_what_a_held_job_waits_for_can_be_told(jobs: HandPlatform, work: FunctionHandler) -> None:
    first = occupy(jobs, work, "running")
    second = slot(jobs, work, "buffer_one")
    sentence = why_not_running(jobs.job(second), jobs.clock.now())
    assert str(first) in sentence and KEY in sentence and "buffer_one" in sentence


def test_a_thousand_keys_at_once_are_a_few_statements(jobs: HandPlatform, work: FunctionHandler) -> None:
    requests = [JobRequest("over.work", overlap="skip", overlap_key=f"k{n}") for n in range(1000)]
    with CaptureQueriesContext(connection) as seen:
        made = submit.submit_many(requests)
    looks = [q for q in seen.captured_queries if "overlap_key" in q["sql"] and q["sql"].startswith("SELECT")]
    assert len(looks) <= 10, len(looks)
    assert Job.objects.filter(hold=Hold.NONE).count() == len(made) == 1000


@pytest.mark.parametrize("policy", sorted({*DECIDED, Overlap.ALLOW}))
def test_two_of_a_key_in_one_submit(jobs: HandPlatform, work: FunctionHandler, policy: str) -> None:
    made = submit.submit_many([JobRequest("over.work", overlap=policy, overlap_key=KEY) for _ in range(2)])
    second = {"skip": "overlap", "buffer_one": "held", "buffer_all": "held", "allow": "free"}
    ids = [result.id for result in made if result.id]
    expected = ["overlap", "free"] if policy == "cancel_other" else ["free", second[policy]]
    assert standing(jobs, *ids) == expected


REFUSED: list[tuple[dict[str, Any], str]] = [
    ({"overlap": "skpi", "overlap_key": "k"}, "overlap: expected one of skip, "),
    ({"overlap": "skip"}, "overlap_key: "),
    ({"overlap_key": "k"}, "overlap: expected one of skip, "),
    ({"overlap": "skip", "overlap_key": "k" * 321}, "overlap_key: at most 320"),
    ({"overlap": "skip", "overlap_key": "a\nb"}, "overlap_key: control"),
    ({"overlap": 3, "overlap_key": "k"}, "overlap: expected one of"),
    ({"overlap": "skip", "overlap_key": 3}, "overlap_key: expected text"),
    ({"overlap": "skip", "overlap_key": "k", "parent_id": UUID(int=1), "child_key": "a"}, "overlap: a child"),
]


@pytest.mark.parametrize(("fields", "message"), REFUSED)
def test_refused(jobs: HandPlatform, work: FunctionHandler, fields: dict[str, Any], message: str) -> None:
    with pytest.raises(InvalidInput) as refused:
        submit.enqueue("over.work", **fields)
    assert str(refused.value).startswith(message)
    assert Job.objects.count() == 0


def test_the_longest_key_has_a_lock_row(jobs: HandPlatform, work: FunctionHandler) -> None:
    assert standing(jobs, jobs.submit(work, overlap="skip", overlap_key="é" * 320)) == ["free"]


def test_an_operator_sees_whom_overlap_cancelled(jobs: HandPlatform, work: FunctionHandler) -> None:
    occupy(jobs, work, "running")
    row = jobs.job(slot(jobs, work, "skip"))
    assert (row.state, row.reason, row.cause, row.cancel_reason) == ("cancelled", "overlap", "cancelled", "")
    assert row.finished_at and row.purge_at and not row.attempts.exists()
    assert why_not_running(row, jobs.clock.now()).startswith("It has ended: cancelled (overlap)")
    assert control.cancel(row.id, actor=Actor("x", "user")).how == "already_ended"
