"""Real connections racing on PostgreSQL: the database decides, and nobody is stopped by losing."""

from __future__ import annotations

import threading
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import Any, TypeVar
from uuid import UUID

import pytest
from django.db import connection, connections, transaction

from jobsplatform.kernel import clock, processes
from jobsplatform.kernel.audit import Actor
from jobsplatform.kernel.errors import IllegalMove
from jobsplatform.kernel.models import AuditEvent
from jobsplatform.testing.factory import make_job
from tasks import admission, control, dispatch, finish, queries, registry, run, submit
from tasks.dispatch import WorkerView
from tasks.filters import JobFilter
from tasks.handlers import FunctionHandler, job
from tasks.models import Job
from tasks.outcomes import Ending
from tasks.requests import JobRequest
from tasks.states import IN_FLIGHT, Hold, Role, State
from tests.database.barriers import Gate

pytestmark = [pytest.mark.postgres, pytest.mark.django_db(transaction=True)]

ACTOR = Actor("racer", "system")
T = TypeVar("T")


@pytest.fixture(autouse=True)
def handlers() -> Iterator[dict[str, FunctionHandler]]:
    with registry.preserved():

        @job("race.plain")
        def plain(n: int = 0) -> int:
            return n

        @job("race.keyed", concurrency_key="k{n}", concurrency_limit=2)
        def keyed(n: int = 0) -> int:
            return n

        @job("race.limited", max_concurrency=3)
        def limited(n: int = 0) -> int:
            return n

        @job("race.exclusive", exclusive=True)
        def exclusive(n: int = 0) -> int:
            return n

        @job("race.dedupe", dedupe_key="same")
        def dedupe(n: int = 0) -> int:
            return n

        @job("race.latest", dedupe_key="same", dedupe="keep_latest")
        def latest(n: int = 0) -> int:
            return n

        yield {h.spec.job_type: h for h in (plain, keyed, limited, exclusive, dedupe, latest)}


def together(calls: Sequence[Callable[[], T]]) -> list[T]:
    """Run the calls at the same moment, each on a connection of its own."""
    start = threading.Barrier(len(calls))

    def one(call: Callable[[], T]) -> T:
        try:
            connection.ensure_connection()
            start.wait(timeout=30)
            return call()
        finally:
            connections.close_all()

    with ThreadPoolExecutor(len(calls)) as pool:
        return list(pool.map(one, calls))


def worker(concurrency: int = 8, queues: tuple[str, ...] = ("default",)) -> WorkerView:
    process = processes.register(
        "worker",
        name="racer",
        now=clock.now(),
        queues=queues,
        concurrency=concurrency,
        handlers=registry.keys(),
    )
    return WorkerView(process.id, queues, registry.keys(), concurrency)


def claim_all(view: WorkerView, empty_rounds: int = 3) -> list[UUID]:
    """Claim and end at once, round after round, until nothing is left."""
    got: list[UUID] = []
    while empty_rounds:
        choice = dispatch.claim(view, clock.now())
        for claimed in choice.won:
            got.append(claimed.job_id)
            run.begin(claimed.job_id, claimed.lease)
            finish.finish(claimed.job_id, claimed.lease, Ending("completed"), clock.now())
        if not choice.won and not choice.parked:
            empty_rounds -= 1
    return got


def test_four_claimers_take_each_of_two_thousand_jobs_once() -> None:
    submit.submit_many([JobRequest("race.plain", {"n": n}) for n in range(2000)])
    views = [worker(concurrency=100) for _ in range(4)]

    def claim_only(view: WorkerView) -> list[UUID]:
        got: list[UUID] = []
        while choice := dispatch.claim(view, clock.now()).won:
            got += [c.job_id for c in choice]
            Job.objects.filter(id__in=[c.job_id for c in choice]).update(
                state="completed", worker_id=None, finished_at=clock.now()
            )
        return got

    taken = [job_id for part in together([lambda v=v: claim_only(v) for v in views]) for job_id in part]  # type: ignore[misc]
    assert len(taken) == 2000 and len(set(taken)) == 2000
    assert set(Job.objects.values_list("lease", flat=True)) == {1}


@pytest.mark.parametrize(
    ("job_type", "most"), [("race.keyed", 2), ("race.limited", 3), ("race.exclusive", 1)]
)
def test_limits_are_never_exceeded(job_type: str, most: int) -> None:
    submit.submit_many([JobRequest(job_type, {"n": 0}) for _ in range(60)])
    views = [worker() for _ in range(4)]
    seen: list[int] = []
    over = threading.Event()

    def watch() -> None:
        while not over.is_set():
            seen.append(Job.objects.filter(state__in=sorted(IN_FLIGHT)).count())

    def work(view: WorkerView) -> list[UUID]:
        got: list[UUID] = []
        while Job.objects.filter(state=State.PENDING).exists():
            for claimed in dispatch.claim(view, clock.now()).won:
                got.append(claimed.job_id)
                run.begin(claimed.job_id, claimed.lease)
                finish.finish(claimed.job_id, claimed.lease, Ending("completed"), clock.now())
        return got

    def all_work() -> list[list[UUID]]:
        try:
            return together([lambda v=v: work(v) for v in views])  # type: ignore[misc]
        finally:
            over.set()

    parts: Any = together([watch, all_work])[1]
    taken = [job_id for part in parts for job_id in part]
    assert len(taken) == len(set(taken)) == 60
    assert 0 < max(seen) <= most


def test_slots_of_a_queue_are_never_exceeded_nor_the_reserve_touched() -> None:
    submit.submit_many([JobRequest("race.plain") for _ in range(40)])
    views = [worker(concurrency=2) for _ in range(4)]
    won = together([lambda v=v: len(dispatch.claim(v, clock.now()).won) for v in views])  # type: ignore[misc]
    assert sum(won) == 7, "eight slots, one of them reserved"


def test_fifty_equal_dedupe_keys_have_one_leader() -> None:
    results = together([lambda: submit.enqueue("race.dedupe") for _ in range(50)])
    assert Counter(r.status for r in results) == {"created": 1, "alias": 49}
    leader = next(r.id for r in results if r.status == "created")
    assert {r.leader_id for r in results if r.status == "alias"} == {leader}


def test_a_burst_of_keep_latest_leaves_one_leader_and_one_successor() -> None:
    together([lambda n=n: submit.enqueue("race.latest", {"n": n}) for n in range(20)])  # type: ignore[misc]
    active = Job.objects.filter(state=State.PENDING)
    assert sorted(active.values_list("role", flat=True)) == ["leader", "successor"]
    assert Job.objects.filter(state=State.CANCELLED, reason="superseded").count() == 18


def test_the_winner_rolls_back_and_the_other_becomes_the_job() -> None:
    gate = Gate()

    def rolls_back() -> str:
        with transaction.atomic():
            status = submit.enqueue("race.dedupe").status
            gate.open("enqueued")
            gate.wait_until_blocked(by="race.dedupe")
            transaction.set_rollback(True)
        return status

    def follows() -> str:
        gate.wait("enqueued")
        return submit.enqueue("race.dedupe").status

    assert together([rolls_back, follows]) == ["created", "created"]
    assert Job.objects.get().role == Role.LEADER


def test_an_alias_inserted_while_its_leader_ends_does_not_stay_open() -> None:
    leader = submit.enqueue("race.dedupe").id
    (claimed,) = dispatch.claim(worker(), clock.now()).won
    run.begin(claimed.job_id, claimed.lease)
    gate = Gate()

    def alias() -> UUID | None:
        with transaction.atomic():
            made = submit.enqueue("race.dedupe")
            gate.open("alias inserted")
            gate.wait("leader ended")
        return made.id

    def end() -> None:
        gate.wait("alias inserted")
        finish.finish(claimed.job_id, claimed.lease, Ending("completed"), clock.now())
        gate.open("leader ended")

    made, _ = together([alias, end])
    assert made is not None
    assert queries.get_job(made).leader_id == leader
    assert queries.get_job(made).state == State.COMPLETED


def test_two_who_look_at_a_free_overlap_key_let_one_in() -> None:
    for n in range(10):
        made = [
            make_job(job_type="race.plain", hold=Hold.OVERLAP, overlap="buffer_all", overlap_key=f"k{n}")
            for _ in range(3)
        ]
        together([lambda: admission.admit([f"k{n}"], clock.now()) for _ in range(4)])  # noqa: B023
        holds = [queries.get_job(job.id).hold for job in made]
        assert holds == [Hold.NONE, Hold.OVERLAP, Hold.OVERLAP], "the oldest, and nobody else"


@pytest.mark.parametrize("policy", ["skip", "buffer_one", "buffer_all", "cancel_other"])
def test_twenty_submits_of_one_overlap_key_let_one_in(policy: str) -> None:
    wish = JobRequest("race.plain", overlap=policy, overlap_key="k")
    together([lambda: submit.submit(wish) for _ in range(20)])
    left = Counter(Job.objects.values_list("state", "hold", "reason"))
    let_in = left.pop(("pending", "", ""))
    assert let_in == 1
    waiting = {"skip": 0, "buffer_one": 1, "buffer_all": 19, "cancel_other": 0}[policy]
    assert left.pop(("pending", "overlap", ""), 0) == waiting
    assert {state for state, _, reason in left if reason in ("overlap", "superseded")} == {
        s for s, *_ in left
    }


@pytest.mark.parametrize("policy", ["skip", "buffer_one", "buffer_all", "cancel_other", "allow"])
def test_an_overlap_key_is_never_left_idle_nor_entered_twice(policy: str) -> None:
    """Submits against ends and claims, many times over: one at a time, and at the end nobody is left waiting."""
    views = [worker() for _ in range(2)]
    over = threading.Event()
    most = []

    def submits() -> None:
        for _ in range(15):
            submit.enqueue("race.plain", overlap=policy, overlap_key="k")

    def submit_all() -> None:
        try:
            together([submits, submits])
        finally:
            over.set()

    def work(view: WorkerView) -> None:
        give_up = clock.monotonic() + 240
        while not over.is_set() or Job.objects.filter(state=State.PENDING).exists():
            assert clock.monotonic() < give_up, Counter(Job.objects.values_list("state", "hold", "overlap"))
            for claimed in dispatch.claim(view, clock.now()).won:
                run.begin(claimed.job_id, claimed.lease)
                most.append(Job.objects.filter(state__in=sorted(IN_FLIGHT)).count())
                finish.finish(claimed.job_id, claimed.lease, Ending("completed"), clock.now())

    together([submit_all, *[lambda v=v: work(v) for v in views]])  # type: ignore[misc]
    assert Job.objects.filter(finished_at=None).count() == 0
    if policy == "buffer_all":
        assert Job.objects.filter(state=State.COMPLETED).count() == 30
    if policy != "allow":
        assert max(most) == 1


def test_one_idempotency_key_makes_one_job() -> None:
    results = together(
        [lambda: submit.enqueue("race.plain", {"n": 1}, idempotency_key="k") for _ in range(20)]
    )
    assert Counter(r.status for r in results) == {"created": 1, "replayed": 19}
    assert len({r.id for r in results}) == 1
    assert Job.objects.count() == 1


def test_cancel_against_finish_has_one_end_that_both_agree_on() -> None:
    for _ in range(25):
        job_id = submit.enqueue("race.plain").id
        assert job_id is not None
        (claimed,) = dispatch.claim(worker(), clock.now()).won
        run.begin(claimed.job_id, claimed.lease)
        cancelled, finished = together(
            [
                lambda: control.cancel(job_id, actor=ACTOR).how,  # noqa: B023
                lambda: finish.finish(job_id, claimed.lease, Ending("completed"), clock.now()),  # noqa: B023
            ]
        )
        end = queries.get_job(job_id)
        assert finished is not None and finished.state == end.state
        expected = State.COMPLETED if cancelled == "already_ended" else State.CANCELLED
        assert end.state == expected
        assert end.attempts.count() == 1


def test_the_last_two_children_ending_together_release_their_parent() -> None:
    for _ in range(15):
        parent_id = submit.enqueue("race.plain").id
        view = worker()
        (claimed,) = dispatch.claim(view, clock.now()).won
        run.begin(claimed.job_id, claimed.lease)
        submit.submit_many(
            [JobRequest("race.plain", parent_id=parent_id, child_key=str(n)) for n in range(2)]
        )
        finish.finish(claimed.job_id, claimed.lease, Ending("completed"), clock.now())
        children = dispatch.claim(view, clock.now()).won
        assert len(children) == 2
        for child in children:
            run.begin(child.job_id, child.lease)
        together(
            [lambda c=c: finish.finish(c.job_id, c.lease, Ending("completed"), clock.now()) for c in children]  # type: ignore[misc]
        )
        assert queries.get_job(str(parent_id)).state == State.COMPLETED
        assert [e for e in queries.get_job(str(parent_id)).attempts.values_list("outcome", flat=True)] == [
            "wait"
        ]


def test_finishing_many_against_a_cascading_cancel_and_a_cancel_by_filter_deadlocks_nobody() -> None:
    parent_id = submit.enqueue("race.plain").id
    view = worker(concurrency=60)
    (claimed,) = dispatch.claim(view, clock.now()).won
    run.begin(claimed.job_id, claimed.lease)
    submit.submit_many([JobRequest("race.plain", parent_id=parent_id, child_key=str(n)) for n in range(40)])
    finish.finish(claimed.job_id, claimed.lease, Ending("completed"), clock.now())
    children = dispatch.claim(view, clock.now()).won
    for child in children:
        run.begin(child.job_id, child.lease)

    def finish_all(order: int) -> None:
        for child in children[::order]:
            finish.finish(child.job_id, child.lease, Ending("completed"), clock.now())

    together(
        [
            lambda: finish_all(1),
            lambda: finish_all(-1),
            lambda: control.cancel(str(parent_id), actor=ACTOR, cascade=True),
            lambda: control.cancel_by_filter(JobFilter(parent=parent_id), actor=ACTOR),
        ]
    )
    assert set(Job.objects.values_list("state", flat=True)) <= {"completed", "cancelled"}
    for child in Job.objects.filter(parent_id=parent_id):
        assert child.attempts.count() == 1


def test_a_suspension_is_exact_against_claims_under_way() -> None:
    submit.submit_many([JobRequest("race.plain") for _ in range(50)])
    views = [worker(concurrency=5) for _ in range(3)]

    def suspend() -> int:
        control.suspend("all", actor=ACTOR)
        return Job.objects.filter(state=State.DISPATCHED).count()

    *_, sent = together([*[lambda v=v: len(claim_once(v)) for v in views], suspend])  # type: ignore[misc]
    assert sent == 0, "what had been sent went back"
    assert Job.objects.filter(state=State.DISPATCHED).count() == 0, "nothing was sent after the suspension"


def claim_once(view: WorkerView) -> list[UUID]:
    return [c.job_id for c in dispatch.claim(view, clock.now()).won]


def test_a_job_enqueued_in_a_transaction_is_not_seen_before_its_commit() -> None:
    gate = Gate()
    view = worker()

    def enqueues() -> None:
        with transaction.atomic():
            submit.enqueue("race.plain")
            gate.open("enqueued")
            gate.wait("looked")

    def looks() -> int:
        gate.wait("enqueued")
        try:
            return len(dispatch.claim(view, clock.now()).won)
        finally:
            gate.open("looked")

    assert together([enqueues, looks])[1] == 0
    assert len(dispatch.claim(view, clock.now()).won) == 1


def test_a_parent_and_its_children_retried_at_one_moment() -> None:
    """Children that were retried alone a moment before are no reason to refuse their parent."""
    parent = submit.enqueue("race.plain").id
    assert parent is not None
    names = [f"c{n}" for n in range(8)]
    made = submit.submit_many([JobRequest("race.plain", parent_id=parent, child_key=name) for name in names])
    children = [result.id for result in made if result.id is not None]
    control.cancel(parent, actor=ACTOR, cascade=True)

    def again(job_id: UUID) -> str:
        try:
            control.retry(job_id, actor=ACTOR)
        except IllegalMove:
            return "was retried with its parent"
        return "retried"

    told = together([lambda job_id=job_id: again(job_id) for job_id in (parent, *children)])  # type: ignore[misc]
    assert told[0] == "retried"
    assert set(Job.objects.values_list("state", flat=True)) == {State.PENDING}
    retries = AuditEvent.objects.filter(action="job.retry").values_list("target_id", flat=True)
    assert sorted(retries) == sorted(map(str, (parent, *children)))
