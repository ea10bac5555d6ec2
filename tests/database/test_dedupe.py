"""One dedupe key, one leader: aliases, keep_latest, reject, and what a retry meets."""

from __future__ import annotations

import pytest

from jobsplatform.kernel.errors import DuplicateJob, IdempotencyConflict, IllegalMove, InvalidInput
from jobsplatform.kernel.models import AuditEvent
from jobsplatform.testing.platform import ACTOR, HandPlatform
from tasks import control, finish, followers, run, submit
from tasks.handlers import FunctionHandler, job
from tasks.models import IdempotencyKey, Job
from tasks.outcomes import Discard, Ending, Fail
from tasks.output import job_output
from tasks.requests import JobRequest
from tasks.states import Role, State


@pytest.fixture
def scan() -> FunctionHandler:
    @job("dd.scan", dedupe_key="scan:{folder}", max_attempts=1)
    def scan(folder: str, how: str = "ok") -> str:
        if how == "fail":
            raise Fail("broken")
        if how == "discard":
            raise Discard("not wanted")
        return f"scanned {folder}"

    return scan


@pytest.fixture
def latest() -> FunctionHandler:
    @job("dd.latest", dedupe_key="k", dedupe="keep_latest")
    def latest(n: int) -> int:
        return n

    return latest


def test_fifty_equal_jobs_are_one_leader_and_forty_nine_aliases(
    jobs: HandPlatform, scan: FunctionHandler
) -> None:
    results = [submit.enqueue("dd.scan", {"folder": "a"}) for _ in range(50)]
    assert [r.status for r in results] == ["created"] + ["alias"] * 49
    assert {r.leader_id for r in results[1:]} == {results[0].id}
    assert jobs.drain() == 1, "an alias takes no slot"


@pytest.mark.parametrize(
    ("how", "state"), [("ok", "completed"), ("fail", "failed"), ("discard", "cancelled")]
)
def test_aliases_end_as_their_leader_ends(
    jobs: HandPlatform, scan: FunctionHandler, how: str, state: str
) -> None:
    leader = jobs.submit(scan, {"folder": "a", "how": how})
    alias = jobs.submit(scan, {"folder": "a", "how": how})
    jobs.drain()
    assert jobs.state(leader) == jobs.state(alias) == state
    shown = job_output(jobs.job(alias))
    assert shown["alias_job_id"] == str(leader)
    assert (shown["status"], shown["result"], shown["error"]) == (
        state,
        jobs.job(leader).result,
        job_output(jobs.job(leader))["error"],
    )


def test_an_alias_shows_its_leaders_status_and_progress(jobs: HandPlatform, scan: FunctionHandler) -> None:
    from tasks import transitions

    jobs.submit(scan, {"folder": "a"})
    alias = jobs.submit(scan, {"folder": "a"})
    (claimed,) = jobs.worker.dispatch()
    run.begin(claimed.job_id, claimed.lease)
    transitions.progress(claimed.job_id, claimed.lease, 3, 4, "three", jobs.clock.now())
    shown = job_output(jobs.job(alias))
    assert (shown["status"], shown["progress"]["pct"], shown["progress"]["label"]) == (
        "running",
        75.0,
        "three",
    )


@pytest.mark.parametrize("how", ["ok", "fail", "discard"])
def test_the_key_is_free_after_any_end(jobs: HandPlatform, scan: FunctionHandler, how: str) -> None:
    jobs.submit(scan, {"folder": "a", "how": how})
    jobs.drain()
    again = submit.enqueue("dd.scan", {"folder": "a"})
    assert again.status == "created"


def test_a_discard_that_says_user_is_still_no_cancel(jobs: HandPlatform) -> None:
    @job("dd.discards", dedupe_key="k")
    def discards() -> None:
        raise Discard("user")

    leader, alias = jobs.submit(discards), jobs.submit(discards)
    assert jobs.drain() == 1
    assert (jobs.state(leader), jobs.state(alias)) == (State.CANCELLED, State.CANCELLED)


def test_the_key_is_free_after_a_cancel(jobs: HandPlatform, scan: FunctionHandler) -> None:
    control.cancel(jobs.submit(scan, {"folder": "a"}), actor=ACTOR)
    assert submit.enqueue("dd.scan", {"folder": "a"}).status == "created"


def test_cancelling_an_alias_touches_only_the_alias(jobs: HandPlatform, scan: FunctionHandler) -> None:
    leader, alias, other = (jobs.submit(scan, {"folder": "a"}) for _ in range(3))
    control.cancel(alias, actor=ACTOR)
    assert [jobs.state(j) for j in (leader, alias, other)] == [State.PENDING, State.CANCELLED, State.PENDING]
    jobs.drain()
    assert [jobs.state(j) for j in (leader, alias, other)] == [
        State.COMPLETED,
        State.CANCELLED,
        State.COMPLETED,
    ]
    assert job_output(jobs.job(alias))["status"] == "cancelled"


def test_cancelling_the_leader_promotes_its_oldest_live_alias(
    jobs: HandPlatform, scan: FunctionHandler
) -> None:
    leader, gone, heir, last = (jobs.submit(scan, {"folder": "a"}) for _ in range(4))
    control.cancel(gone, actor=ACTOR)
    control.cancel(leader, actor=ACTOR)
    assert jobs.job(heir).role == Role.LEADER
    assert jobs.job(last).leader_id == heir
    jobs.drain()
    assert [jobs.state(j) for j in (leader, gone, heir, last)] == [
        "cancelled",
        "cancelled",
        "completed",
        "completed",
    ]


def test_cancelling_a_running_leader_promotes_when_it_has_stopped(
    jobs: HandPlatform, scan: FunctionHandler
) -> None:
    leader, alias = jobs.submit(scan, {"folder": "a"}), jobs.submit(scan, {"folder": "a"})
    (claimed,) = jobs.worker.dispatch()
    run.begin(claimed.job_id, claimed.lease)
    control.cancel(leader, actor=ACTOR)
    assert jobs.job(alias).role == Role.ALIAS
    finish.finish(leader, claimed.lease, Ending("cancelled", reason="user"), jobs.clock.now())
    assert jobs.job(alias).role == Role.LEADER


def test_an_alias_committed_after_its_leader_ended_is_settled(
    jobs: HandPlatform, scan: FunctionHandler, make_job: object
) -> None:
    """The row as the race leaves it: the leader is final, the alias still open."""
    leader = make_job("completed", job_type="dd.scan", dedupe_key="scan:a")  # type: ignore[operator]
    alias = make_job(job_type="dd.scan", dedupe_key="scan:a", role=Role.ALIAS, leader_id=leader.id)  # type: ignore[operator]
    orphan = make_job(job_type="dd.scan", dedupe_key="scan:b", role=Role.ALIAS, leader_id=alias.id)  # type: ignore[operator]
    Job.objects.filter(id=orphan.id).update(leader_id="01890a5d-ac96-774b-bcce-b302099a8057")
    jobs.sweep()
    assert jobs.state(alias.id) is State.COMPLETED
    assert jobs.job(orphan.id).role == Role.LEADER, "its leader's row is gone: it runs for itself"
    assert not followers.forgotten()


def test_keep_latest_has_one_running_and_the_newest_waiting(
    jobs: HandPlatform, latest: FunctionHandler
) -> None:
    first = jobs.submit(latest, {"n": 0})
    (claimed,) = jobs.worker.dispatch()
    waiting = [jobs.submit(latest, {"n": n}) for n in range(1, 6)]
    states = [(jobs.job(j).state, jobs.job(j).reason) for j in waiting]
    assert states == [("cancelled", "superseded")] * 4 + [("pending", "")]
    jobs.worker.run(claimed)
    assert jobs.job(waiting[-1]).role == Role.LEADER
    jobs.drain()
    assert (jobs.job(first).result, jobs.job(waiting[-1]).result) == (0, 5)


def test_a_leader_that_goes_back_keeps_its_place_before_its_successor(jobs: HandPlatform) -> None:
    tried = []

    @job("dd.retrying", dedupe_key="k", dedupe="keep_latest", backoff=5.0)
    def retrying(n: int) -> int:
        tried.append(n)
        if len(tried) == 1:
            raise ValueError("once")
        return n

    jobs.submit(retrying, {"n": 1})
    jobs.drain()
    successor = jobs.submit(retrying, {"n": 2})
    assert jobs.job(successor).role == Role.SUCCESSOR
    jobs.advance(6)
    jobs.drain()
    assert tried == [1, 1, 2]


def test_reject_refuses_and_stores_nothing(jobs: HandPlatform) -> None:
    @job("dd.reject", dedupe_key="k", dedupe="reject")
    def reject() -> None: ...

    jobs.submit(reject)
    with pytest.raises(DuplicateJob):
        jobs.submit(reject)
    assert Job.objects.count() == 1


def test_retrying_an_alias_is_a_new_submit(jobs: HandPlatform, scan: FunctionHandler) -> None:
    jobs.submit(scan, {"folder": "a", "how": "fail"})
    alias = jobs.submit(scan, {"folder": "a", "how": "fail"})
    jobs.drain()
    result = control.retry(alias, actor=ACTOR)
    assert isinstance(result, submit.SubmitResult) and result.status == "created"
    assert jobs.state(alias) is State.FAILED


def test_a_second_click_on_the_retry_of_an_alias_makes_no_second_job(
    jobs: HandPlatform, scan: FunctionHandler
) -> None:
    leader, alias = jobs.submit(scan, {"folder": "a"}), jobs.submit(scan, {"folder": "a"})
    control.cancel(alias, actor=ACTOR)
    control.cancel(leader, actor=ACTOR)
    first, second = control.retry(alias, actor=ACTOR), control.retry(alias, actor=ACTOR)
    assert isinstance(first, submit.SubmitResult) and isinstance(second, submit.SubmitResult)
    assert (first.status, second.status, second.id) == ("created", "replayed", first.id)
    jobs.drain()
    third = control.retry(alias, actor=ACTOR)
    assert isinstance(third, submit.SubmitResult)
    assert third.status == "created", "what the first click made has ended: this is a new wish"
    assert AuditEvent.objects.filter(action="job.retry").count() == 2


def test_a_retry_that_meets_a_newer_twin_becomes_its_alias(jobs: HandPlatform, scan: FunctionHandler) -> None:
    old = jobs.submit(scan, {"folder": "a", "how": "fail"})
    jobs.drain()
    twin = jobs.submit(scan, {"folder": "a"})
    control.retry(old, actor=ACTOR)
    assert (jobs.job(old).role, jobs.job(old).leader_id) == (Role.ALIAS, twin)
    jobs.drain()
    assert jobs.state(old) is State.COMPLETED
    assert job_output(jobs.job(old))["result"] == "scanned a"


def test_a_retry_of_keep_latest_that_meets_a_newer_twin_is_refused(
    jobs: HandPlatform, latest: FunctionHandler
) -> None:
    old = jobs.submit(latest, {"n": 1})
    control.cancel(old, actor=ACTOR)
    jobs.submit(latest, {"n": 2})
    with pytest.raises(IllegalMove, match="newer job"):
        control.retry(old, actor=ACTOR)
    assert jobs.state(old) is State.CANCELLED


def test_a_hundred_conflicts_do_not_stop_the_others(jobs: HandPlatform, scan: FunctionHandler) -> None:
    old = [jobs.submit(scan, {"folder": str(n), "how": "fail"}) for n in range(30)]
    jobs.drain()
    for n in range(30):
        jobs.submit(scan, {"folder": str(n)})
        control.retry(old[n], actor=ACTOR)
    free = jobs.submit(scan, {"folder": "free"})
    jobs.drain()
    assert jobs.state(free) is State.COMPLETED
    assert {jobs.state(j) for j in old} == {State.COMPLETED}


def test_tenants_and_apps_never_share_a_key(jobs: HandPlatform, scan: FunctionHandler) -> None:
    @job("dd.scan", app_id="video", dedupe_key="scan:{folder}")
    def theirs(folder: str) -> None: ...

    statuses = [
        submit.enqueue("dd.scan", {"folder": "a"}, tenant_id="acme").status,
        submit.enqueue("dd.scan", {"folder": "a"}, tenant_id="globex").status,
        submit.enqueue("dd.scan", {"folder": "a"}, app_id="video").status,
        submit.enqueue("dd.scan", {"folder": "a"}).status,
    ]
    assert statuses == ["created"] * 4


def test_composed_and_decomposed_spellings_are_one_key(jobs: HandPlatform, scan: FunctionHandler) -> None:
    assert submit.enqueue("dd.scan", {"folder": "caf\u00e9"}).status == "created"
    assert submit.enqueue("dd.scan", {"folder": "cafe\u0301"}).status == "alias"


def test_a_bulk_with_equal_keys_has_one_leader(jobs: HandPlatform, scan: FunctionHandler) -> None:
    results = submit.submit_many([JobRequest("dd.scan", {"folder": str(n % 3)}) for n in range(9)])
    assert [r.status for r in results].count("created") == 3
    assert jobs.drain() == 3


# -- idempotency keys --------------------------------------------------------------------------------


def test_the_same_idempotency_key_gives_the_same_job(jobs: HandPlatform, scan: FunctionHandler) -> None:
    first = submit.enqueue("dd.scan", {"folder": "a", "how": "ok"}, idempotency_key="order-7")
    again = submit.enqueue("dd.scan", {"how": "ok", "folder": "a"}, idempotency_key="order-7")
    assert (again.status, again.id) == ("replayed", first.id)
    assert Job.objects.count() == 1


@pytest.mark.parametrize("params", [{"folder": "b"}, {"folder": "a", "how": "ok"}])
def test_the_same_idempotency_key_for_other_params_is_an_error(
    jobs: HandPlatform, scan: FunctionHandler, params: dict[str, str]
) -> None:
    submit.enqueue("dd.scan", {"folder": "a"}, idempotency_key="k")
    with pytest.raises(IdempotencyConflict):
        submit.enqueue("dd.scan", params, idempotency_key="k")
    assert Job.objects.count() == 1


def test_an_idempotency_key_outlives_its_jobs_retention(jobs: HandPlatform, scan: FunctionHandler) -> None:
    first = submit.enqueue("dd.scan", {"folder": "a"}, idempotency_key="k")
    jobs.drain()
    jobs.advance(8 * 86_400)
    jobs.prune()
    assert not Job.objects.exists()
    assert submit.enqueue("dd.scan", {"folder": "a"}, idempotency_key="k").id == first.id
    jobs.advance(31 * 86_400)
    jobs.prune()
    assert not IdempotencyKey.objects.exists()
    assert submit.enqueue("dd.scan", {"folder": "a"}, idempotency_key="k").status == "created"


def test_idempotency_keys_are_within_tenant_and_app(jobs: HandPlatform, scan: FunctionHandler) -> None:
    one = submit.enqueue("dd.scan", {"folder": "a"}, idempotency_key="k", tenant_id="acme")
    two = submit.enqueue("dd.scan", {"folder": "b"}, idempotency_key="k", tenant_id="globex")
    assert (one.status, two.status) == ("created", "created")


def test_a_bulk_replays_equal_keys_inside_itself(jobs: HandPlatform, scan: FunctionHandler) -> None:
    wish = JobRequest("dd.scan", {"folder": "a"}, idempotency_key="k")
    first, second = submit.submit_many([wish, wish])
    assert (first.status, second.status, first.id) == ("created", "replayed", second.id)
    assert Job.objects.count() == 1


@pytest.mark.parametrize("key", ["", "x" * 256, "a\x00b", "\ud800"])
def test_keys_that_cannot_be_stored_are_refused(jobs: HandPlatform, scan: FunctionHandler, key: str) -> None:
    with pytest.raises(InvalidInput):
        submit.enqueue("dd.scan", {"folder": "a"}, idempotency_key=key)
    assert not Job.objects.exists()
