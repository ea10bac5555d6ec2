"""What operators do is told once each: who, what, from what to what."""

from datetime import timedelta
from typing import Any

import pytest

from jobsplatform.kernel.audit import Actor
from jobsplatform.kernel.errors import IllegalMove
from jobsplatform.kernel.models import AuditEvent
from jobsplatform.testing.platform import HandPlatform
from tasks import control, prune
from tasks.context import JobContext
from tasks.filters import JobFilter
from tasks.handlers import job
from tasks.outcomes import Fail, Pause
from tests.database.cli.ran import ran

ANN = Actor("ann", "user", ip="10.0.0.1")


@pytest.fixture(autouse=True)
def types(jobs: HandPlatform) -> None:
    @job("audited.rests")
    def rests(ctx: JobContext) -> None:
        raise Pause("a rest")

    @job("audited.fails")
    def fails() -> None:
        raise Fail("no luck", retryable=False)

    @job("audited.adds")
    def adds(first: int) -> int:
        return first


def told(action: str) -> AuditEvent:
    """The one event of this action."""
    return AuditEvent.objects.get(action=action)


def test_a_retry_and_a_resume_tell_both_states_and_a_second_one_tells_nothing(jobs: HandPlatform) -> None:
    failed, paused = jobs.submit("audited.fails"), jobs.submit("audited.rests", tenant_id="t")
    jobs.drain()
    control.retry(failed, actor=ANN)
    control.resume(paused, actor=ANN)
    for action, target, before in (("job.retry", failed, "failed"), ("job.resume", paused, "paused")):
        event = told(action)
        assert (event.target_id, event.actor, event.ip) == (str(target), "ann", "10.0.0.1")
        assert (event.before, event.after) == ({"state": before}, {"state": "pending"})
    assert told("job.resume").tenant_id == "t"
    with pytest.raises(IllegalMove):
        control.retry(failed, actor=ANN)
    with pytest.raises(IllegalMove):
        control.resume(paused, actor=ANN)
    assert AuditEvent.objects.filter(action__in=["job.retry", "job.resume"]).count() == 2


def test_changing_a_suspension_tells_what_it_was(jobs: HandPlatform) -> None:
    control.suspend("all", actor=ANN, reason="first")
    control.suspend("all", actor=Actor("bob", "user"), reason="second", interrupt=True)
    control.unsuspend("all", actor=ANN)
    made, changed = AuditEvent.objects.filter(action="suspend").order_by("id")
    assert (made.before, made.after["reason"]) == (None, "first")
    assert (changed.before["author"], changed.before["reason"], changed.after["author"]) == (
        "ann",
        "first",
        "bob",
    )
    assert told("unsuspend").before["reason"] == "second"


def test_what_was_chosen_by_a_filter_is_told_without_payload(jobs: HandPlatform) -> None:
    jobs.submit("audited.adds", {"first": 1}, user_id="u")
    since = jobs.clock.now() - timedelta(hours=1)
    control.cancel_by_filter(JobFilter(user="u", created_after=since), actor=ANN)
    prune.purge(JobFilter(types=("audited.adds",), data={"card": "4242"}), actor=ANN)
    chosen = told("jobs.cancel_by_filter").after
    assert chosen == {"changed": 1, "filter": {"user": "u", "created_after": since.isoformat()}}
    purged: dict[str, Any] = told("jobs.purge").after["filter"]
    assert purged == {"types": ["audited.adds"], "data": ["card"]}


def test_a_job_made_at_the_command_line_is_told_and_a_replay_is_not(jobs: HandPlatform) -> None:
    for _ in range(2):
        answer = ran("jobs", "enqueue", "audited.adds", "-p", "first=1", "--idempotency-key", "k")
        assert answer.code == 0
    event = told("job.enqueue")
    assert (event.target_id, event.actor_kind) == (answer.out.strip(), "cli")
    assert event.after == {"job_type": "audited.adds", "status": "created"}
