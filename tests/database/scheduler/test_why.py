"""Why did a slot fire, or not: every decision, and every lack of one, has its answer."""

from __future__ import annotations

from collections.abc import Callable
from datetime import UTC, datetime, timedelta

import pytest

from jobsplatform.kernel import clock, processes
from jobsplatform.kernel.errors import InvalidInput
from jobsplatform.kernel.models import Tenant
from jobsplatform.testing.factory import make_job
from jobsplatform.testing.platform import HandPlatform
from scheduler import control, pauses
from scheduler.errors import ScheduleNotFound
from scheduler.models import Schedule, ScheduleState, ScheduleTriggerLog
from scheduler.states import PauseScope, Status
from scheduler.why import Answer, Verdict, why
from tasks.handlers import job
from tasks.models import Job
from tasks.states import State
from tests.database.scheduler.tools import ACTOR, at, create, edit, tick, turn


@pytest.fixture(autouse=True)
def work(jobs: HandPlatform) -> None:
    @job("tests.work")
    def work(n: int = 0) -> None: ...


def row(
    status: Status, reason: str = "", *, first: datetime, last: datetime | None = None, **more: object
) -> None:
    """A decision as the planner writes it."""
    fired = status is Status.FIRED
    ScheduleTriggerLog.objects.create(
        schedule_id="s",
        planned_at=first,
        planned_until=last,
        slot_count=1 if last is None else int((last - first).total_seconds() // 3600) + 1,
        origin="auto",
        triggered_at=first + timedelta(seconds=2),
        status=status,
        reason=reason,
        task_id=make_job(State.COMPLETED, schedule_id="s").id if fired else None,
        revision=1,
        decided_by="beat 1",
        **more,
    )


REASONS = [
    (Status.COALESCED, "coalesced into 2026-01-01T14:00:00Z", "only the newest ran: 2026-01-01T14:00:00Z"),
    (Status.SKIPPED, "misfire", "its misfire policy lets late slots go"),
    (Status.SKIPPED, "limit", "catch_up_max"),
    (Status.SKIPPED, "skipped once", "somebody asked to skip it"),
    (Status.SKIPPED, "tenant suspended", "its tenant was suspended"),
    (Status.SKIPPED, "tenant archived", "its tenant was archived"),
    (Status.SKIPPED, "already_running", "a job of its exclusive type had not ended"),
    (Status.SKIPPED, "duplicate", "refuses a second job of the same key"),
    (Status.EXPIRED, "catch-up window", "older than the catch-up window"),
    (Status.PAUSED, "paused", "a pause whose slots are not run"),
    (Status.EXCLUDED, "excluded date", "its date is excluded"),
]


@pytest.mark.parametrize(("status", "reason", "told"), REASONS)
def test_every_reason_of_a_decision_has_its_answer(
    jobs: HandPlatform, status: Status, reason: str, told: str
) -> None:
    create(cron="0 * * * *")
    row(status, reason, first=at(13))
    answer = why("s", at(13), now=at(18))
    assert answer.verdict is Verdict.DECIDED
    assert told in answer.sentence and f"decided {status}" in answer.sentence and "beat 1" in answer.sentence
    assert answer.decision is not None and answer.decision.row.reason == reason
    facts = dict(answer.chain)
    assert facts["reason"] == reason and "revision 1" in facts["decision"]


@pytest.mark.parametrize("status", [s for s in Status if s not in (Status.FIRED, Status.FAILED)])
def test_a_range_answers_for_each_of_its_slots_and_for_no_other_instant(
    jobs: HandPlatform, status: Status
) -> None:
    create(cron="0 * * * *")
    row(status, "misfire", first=at(13), last=at(16))
    for hour in (13, 14, 15, 16):
        answer = why("s", at(hour), now=at(18))
        assert answer.verdict is Verdict.DECIDED
        assert dict(answer.chain)["range"].startswith("one of 4 slots from 2026-01-01T13:00:00Z to")
    between = why("s", at(14, 30), now=at(18))
    assert between.verdict is Verdict.NOT_A_SLOT
    assert (between.before, between.after) == (at(14), at(15))


def test_a_slot_that_could_not_be_made_a_job_tells_the_error(jobs: HandPlatform) -> None:
    create(cron="0 * * * *")
    row(Status.FAILED, "PARAMS_INVALID", first=at(13), error="n: expected a number\nof apples")
    answer = why("s", at(13), now=at(14))
    assert (
        "could not be made a job" in answer.sentence and "n: expected a number of apples" in answer.sentence
    )
    assert answer.as_dict()["decision"]["status"] == "failed"


OUTCOMES = [
    ({"state": State.COMPLETED}, "run", "completed at"),
    ({"state": State.FAILED}, "failed", "failed at"),
    (
        {"state": State.CANCELLED, "reason": "overlap"},
        "overlapped",
        "an earlier job of the schedule had not ended",
    ),
    ({"state": State.CANCELLED, "reason": "latest_start"}, "expired", "longer than its latest start"),
    ({"state": State.CANCELLED, "reason": "user"}, "cancelled", "was cancelled"),
    ({"state": State.RUNNING}, "running", "is unfinished. It is running since"),
    ({"state": State.PENDING}, "waiting", "is unfinished. No worker is alive."),
    ({"state": State.DISPATCHED}, "waiting", "is unfinished. It was sent"),
    ({"state": State.PAUSED}, "paused", "is unfinished. It is paused"),
]


@pytest.mark.parametrize(("columns", "outcome", "told"), OUTCOMES, ids=[str(o[1]) for o in OUTCOMES])
def test_a_fired_slot_tells_what_became_of_its_job(
    jobs: HandPlatform, columns: dict[str, str], outcome: str, told: str
) -> None:
    create(cron="0 * * * *")
    row(Status.FIRED, first=at(13))
    made = make_job(job_type="tests.work", schedule_id="s", planned_at=at(13), **columns)
    ScheduleTriggerLog.objects.update(task_id=made.id)
    answer = why("s", at(13), now=at(14))
    assert "It fired at 2026-01-01T13:00:02Z by beat 1, 2.0 s after its slot." in answer.sentence
    assert told in answer.sentence
    assert answer.as_dict()["decision"]["outcome"] == outcome


def test_a_job_that_retention_has_taken(jobs: HandPlatform) -> None:
    create(cron="0 * * * *")
    row(Status.FIRED, first=at(13))
    Job.objects.all().delete()
    answer = why("s", at(13), now=at(14))
    assert "is gone: its retention has passed" in answer.sentence
    assert answer.as_dict()["decision"]["outcome"] == "gone"


# -- without a decision ------------------------------------------------------------------------------


def asked(hour: int, minute: int = 0, **more: object) -> Answer:
    return why("s", at(hour, minute), now=clock.now(), **more)  # type: ignore[arg-type]


def faulty(jobs: HandPlatform) -> None:
    Schedule.objects.update(trigger_config={"cron": "61 * * * *"})
    jobs.clock.set(at(14, 30))


def paused_now(jobs: HandPlatform) -> None:
    pauses.pause(PauseScope.SCHEDULE, "s", actor=ACTOR, reason="water in the cellar")
    jobs.clock.set(at(14, 30))


def everything(jobs: HandPlatform) -> None:
    pauses.pause(PauseScope.ALL, actor=ACTOR)
    jobs.clock.set(at(14, 30))


def behind(jobs: HandPlatform) -> None:
    processes.register("scheduler", name="loop", now=at(14, 30))
    jobs.clock.set(at(14, 30))


def alone(jobs: HandPlatform) -> None:
    jobs.clock.set(at(14, 30))


def archived(jobs: HandPlatform) -> None:
    control.archive("s", actor=ACTOR)
    jobs.clock.set(at(14, 30))


def edited(jobs: HandPlatform) -> None:
    jobs.clock.set(at(13, 30))
    tick()
    edit(cron="15 * * * *")


def without_rows(jobs: HandPlatform) -> None:
    turn(jobs, at(14, 30))
    ScheduleTriggerLog.objects.all().delete()


def long_ago(jobs: HandPlatform) -> None:
    without_rows(jobs)
    jobs.clock.set(at(14, 30) + timedelta(days=40))


def spent(jobs: HandPlatform) -> None:
    edit(max_runs=1)
    turn(jobs, at(14, 30))


OPEN = [
    (alone, 15, 0, Verdict.NOT_DUE, "It is not due yet: in 0:30:00."),
    (alone, 13, 20, Verdict.NOT_A_SLOT, "The nearest are 2026-01-01T13:00:00Z and 2026-01-01T14:00:00Z."),
    (alone, 11, 0, Verdict.BEFORE, "The schedule was made at 2026-01-01T12:00:00Z, after this slot."),
    (alone, 14, 0, Verdict.BEHIND, "No scheduler, beat or worker is alive: start one."),
    (behind, 14, 0, Verdict.BEHIND, "The next round of scheduler loop should decide it."),
    (
        paused_now,
        14,
        0,
        Verdict.PAUSED,
        "The schedule is paused by anna since 2026-01-01T12:00:00Z: water in",
    ),
    (everything, 14, 0, Verdict.PAUSED, "Everything is paused by anna"),
    (paused_now, 15, 0, Verdict.NOT_DUE, "The schedule is paused by anna"),
    (faulty, 14, 0, Verdict.FAULTY, "The schedule is faulty and decides nothing: "),
    (archived, 14, 0, Verdict.ARCHIVED, "The schedule is archived since 2026-01-01T12:00:00Z"),
    (edited, 13, 0, Verdict.DECIDED, "It fired"),
    (edited, 13, 15, Verdict.EARLIER_RULE, "The schedule was edited at 2026-01-01T13:30:00Z"),
    (edited, 12, 30, Verdict.EARLIER_RULE, "whether an earlier rule had it is not on record"),
    (without_rows, 14, 0, Verdict.UNRECORDED, "no decision about it is on record"),
    (long_ago, 14, 0, Verdict.FORGOTTEN, "decisions of that age are not kept"),
    (spent, 15, 0, Verdict.FINISHED, "had all its 1 runs"),
]


@pytest.mark.parametrize(("arrange", "hour", "minute", "verdict", "told"), OPEN)
def test_every_lack_of_a_decision_has_its_answer(
    jobs: HandPlatform,
    arrange: Callable[[HandPlatform], None],
    hour: int,
    minute: int,
    verdict: Verdict,
    told: str,
) -> None:
    create(cron="0 * * * *", misfire="run_once")
    arrange(jobs)
    answer = asked(hour, minute)
    assert answer.verdict is verdict, answer.sentence
    assert told in answer.sentence


def test_a_slot_that_will_be_skipped_and_one_that_is_excluded(jobs: HandPlatform) -> None:
    create(cron="0 * * * *", exclude=["2026-01-02"])
    control.skip_next("s", actor=ACTOR)
    assert "It will be skipped" in asked(13).sentence
    excluded = why("s", at(9, day=2), now=clock.now())
    assert excluded.verdict is Verdict.NOT_DUE and "its date is excluded" in excluded.sentence


def test_the_cursor_the_state_lacks(jobs: HandPlatform) -> None:
    create(cron="0 * * * *")
    ScheduleState.objects.all().delete()
    jobs.clock.set(at(14, 30))
    answer = asked(14)
    assert answer.verdict is Verdict.BEHIND and "it has no cursor yet" in answer.sentence


def test_a_manual_schedule_has_no_slots(jobs: HandPlatform) -> None:
    create(manual=True)
    answer = asked(13)
    assert answer.verdict is Verdict.NOT_A_SLOT and "only when somebody asks" in answer.sentence


def test_slots_that_follow_the_end_of_the_last_job(jobs: HandPlatform) -> None:
    create(every="1h", from_="last_end")
    turn(jobs, at(13))
    assert asked(13).verdict is Verdict.DECIDED
    waiting = asked(14)
    assert waiting.verdict is Verdict.NOT_A_SLOT and "when its job has ended" in waiting.sentence
    jobs.advance(600)
    jobs.drain()
    tick()
    following = ScheduleState.objects.get().next_slot_at
    assert following == at(14, 10)
    coming = asked(14, 10)
    assert coming.verdict is Verdict.NOT_DUE, coming.sentence
    other = asked(15)
    assert other.verdict is Verdict.NOT_A_SLOT and "the next is 2026-01-01T14:10:00Z" in other.sentence
    jobs.advance(3600)
    assert asked(14, 10).verdict is Verdict.BEHIND


AUDIENCES = [
    (None, "t1", "It runs once for the whole host"),
    (["t1"], "", "It runs for tenants, each by itself"),
    (["t1"], "t2", "It does not run for tenant 't2'"),
    ("*", "t9", "There is no tenant 't9'"),
]


@pytest.mark.parametrize(("tenants", "tenant", "told"), AUDIENCES)
def test_a_tenant_that_it_does_not_plan_for(
    jobs: HandPlatform, tenants: object, tenant: str, told: str
) -> None:
    for name in ("t1", "t2"):
        Tenant.objects.create(tenant_id=name)
    create(cron="0 * * * *", tenants=tenants)
    answer = asked(13, tenant_id=tenant)
    assert answer.verdict is Verdict.OTHER_AUDIENCE and told in answer.sentence


def test_a_removed_schedule_still_answers_from_its_log(jobs: HandPlatform) -> None:
    create(cron="0 * * * *")
    row(Status.SKIPPED, "misfire", first=at(13))
    Schedule.objects.all().delete()
    assert why("s", at(13), now=at(18)).verdict is Verdict.DECIDED
    assert why("s", at(14), now=at(18)).verdict is Verdict.FORGOTTEN


def test_what_cannot_be_asked(jobs: HandPlatform) -> None:
    create("nightly")
    with pytest.raises(ScheduleNotFound, match="Did you mean 'nightly'"):
        why("nightyl", at(13))
    with pytest.raises(InvalidInput, match="offset"):
        why("nightly", datetime(2026, 1, 1, 13))  # noqa: DTZ001


def test_an_instant_in_another_offset_is_the_same_slot(jobs: HandPlatform) -> None:
    create(cron="0 * * * *")
    row(Status.SKIPPED, "misfire", first=at(13))
    berlin = datetime.fromisoformat("2026-01-01T14:00:00+01:00")
    assert why("s", berlin, now=at(18)).verdict is Verdict.DECIDED
    assert why("s", berlin, now=at(18)).at == datetime(2026, 1, 1, 13, tzinfo=UTC)


def test_who_paused_when_the_slot_came(jobs: HandPlatform) -> None:
    create(cron="0 * * * *")
    pauses.pause(PauseScope.SCHEDULE, "s", actor=ACTOR, reason="flood")
    jobs.clock.set(at(14, 30))
    pauses.resume(PauseScope.SCHEDULE, "s", actor=ACTOR)
    tick()
    answer = asked(13)
    assert answer.decision is not None and answer.decision.row.status == Status.PAUSED
    assert "was paused by anna" in answer.sentence and "flood" in answer.sentence
