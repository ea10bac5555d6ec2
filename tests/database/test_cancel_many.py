"""Many jobs cancelled together end as each by itself would."""

import pytest
from django.db import connection
from django.test.utils import CaptureQueriesContext

from jobsplatform.kernel.models import AuditEvent
from jobsplatform.testing.platform import ACTOR, HandPlatform
from tasks import control
from tasks.events import JobMoved
from tasks.filters import JobFilter
from tasks.handlers import FunctionHandler, job
from tasks.models import Job
from tasks.states import State

EVERYTHING = JobFilter(types=("many.scan",))


@pytest.fixture
def scan(jobs: HandPlatform) -> FunctionHandler:
    @job("many.scan")
    def scan(n: int = 0) -> int:
        return n

    return scan


def end_of(row: Job) -> dict[str, object]:
    facts = (
        "state",
        "reason",
        "cause",
        "cancel_reason",
        "hold",
        "finished_at",
        "purge_at",
        "worker_id",
        "slot",
    )
    return {name: getattr(row, name) for name in facts}


@pytest.mark.parametrize("state", ["pending", "dispatched", "waiting", "paused"])
def test_together_and_alone_end_alike(jobs: HandPlatform, scan: FunctionHandler, make_job, state: str):
    together = [make_job(state=state, job_type="many.scan") for _ in range(2)]
    alone = make_job(state=state, job_type="many.scan", priority=1000)
    assert control.cancel_by_filter(EVERYTHING, actor=ACTOR) == 3
    ends = [end_of(Job.objects.get(id=row.id)) for row in (*together, alone)]
    assert ends[0] == ends[1] == ends[2]
    assert ends[0]["state"] == State.CANCELLED
    assert Job.objects.get(id=together[0].id).revision == together[0].revision + 1
    told = [event for event in jobs.told(JobMoved) if event.move == "cancel"]
    assert len(told) == 3
    assert {(event.state, event.reason, event.cause) for event in told} == {
        ("cancelled", "user", "cancelled")
    }


def test_each_is_audited_as_by_itself(jobs: HandPlatform, scan: FunctionHandler):
    made = [jobs.submit(scan, {"n": n}) for n in range(3)]
    urgent = jobs.submit(scan, priority="urgent")
    control.cancel_by_filter(EVERYTHING, actor=ACTOR)
    events = AuditEvent.objects.filter(action="job.cancel")
    assert {event.target_id for event in events} == {str(each) for each in (*made, urgent)}
    facts = {(str(e.before), str(e.after), e.actor, e.actor_kind, e.outcome, e.app_id) for e in events}
    assert len(facts) == 1


def test_keys_aliases_and_runs_go_their_own_way(jobs: HandPlatform, scan: FunctionHandler, make_job):
    running = make_job(state="running", job_type="many.scan")
    leader = jobs.submit(scan, dedupe_key="k")
    alias = jobs.submit(scan, dedupe_key="k")
    keyed = jobs.submit(scan, concurrency_key="c")
    plain = jobs.submit(scan)
    assert control.cancel_by_filter(EVERYTHING, actor=ACTOR) == 5
    assert {jobs.state(each) for each in (leader, alias, keyed, plain)} == {State.CANCELLED}
    assert jobs.job(running.id).cancel_reason == "user"
    assert jobs.state(running.id) is State.RUNNING


def test_a_parent_goes_on_when_its_last_children_were_cancelled(jobs: HandPlatform):
    @job("many.child")
    def child() -> None: ...

    @job("many.parent")
    def parent() -> None: ...

    made = jobs.submit(parent)
    Job.objects.filter(id=made).update(state=State.WAITING, spawned=True)
    for n in range(5):
        jobs.submit(child, parent_id=made, child_key=str(n))
    assert control.cancel_by_filter(JobFilter(parent=made), actor=ACTOR) == 5
    assert jobs.state(made) is State.COMPLETED


def test_a_batch_is_a_few_statements(jobs: HandPlatform, scan: FunctionHandler):
    def cost(count: int) -> int:
        for n in range(count):
            jobs.submit(scan, {"n": n})
        with CaptureQueriesContext(
            connection,
        ) as captured:
            assert control.cancel_by_filter(EVERYTHING, actor=ACTOR) == count
        return len(captured)

    assert cost(10) == cost(60)


def test_none_is_held_longer_than_its_batch(jobs: HandPlatform, scan: FunctionHandler):
    for n in range(7):
        jobs.submit(scan, {"n": n})
    with CaptureQueriesContext(connection) as captured:
        assert control.cancel_by_filter(EVERYTHING, actor=ACTOR, batch=3) == 7
    updates = [query for query in captured if query["sql"].startswith("UPDATE")]
    assert len(updates) == 3
