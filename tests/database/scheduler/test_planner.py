"""The planner: every slot decided once, its job made with it, the cursor behind it."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from uuid import UUID

import pytest

from jobsplatform.kernel import clock, events
from jobsplatform.testing.platform import HandPlatform
from scheduler import planner
from scheduler.events import SlotDecided
from scheduler.models import Schedule, ScheduleState, ScheduleTriggerLog
from tasks.handlers import FunctionHandler, job
from tasks.models import IdempotencyKey, Job
from tasks.states import State


def at(text: str) -> datetime:
    """An instant of 2026-01-01, the day on which the clock stands."""
    return datetime.fromisoformat(f"2026-01-01T{text}+00:00")


@pytest.fixture
def report(jobs: HandPlatform) -> FunctionHandler:
    @job("plan.report")
    def report(n: int = 0) -> int:
        return n

    return report


def test_a_due_slot_becomes_a_job_a_log_row_and_a_moved_cursor(
    jobs: HandPlatform, report: FunctionHandler
) -> None:
    jobs.schedule(report, cron="0 * * * *", params={"n": 3})
    assert jobs.plan() == []
    (result,) = jobs.plan_at(at("13:00:01"))
    row = jobs.ledger()[0]
    made = Job.objects.get()
    assert result.ok and result.status == "fired" and not result.replayed
    assert result.planned_at == row.planned_at == made.planned_at == at("13:00")
    assert result.triggered_at == row.triggered_at == at("13:00:01")
    assert result.task_id == str(row.task_id) == str(made.id)
    assert (row.origin, row.status, row.task_type, row.reason) == ("auto", "fired", "plan.report", "")
    assert (made.schedule_id, made.origin, made.params) == ("test", "live", {"n": 3})
    assert made.window_start == at("12:00")
    state = jobs.cursor()
    assert state.last_planned_at == state.last_fired_at == at("13:00")
    assert state.last_triggered_at == state.last_checked_at == at("13:00:01")
    assert state.next_due_at == state.next_slot_at == at("14:00")
    assert state.fired == 1


def test_a_trigger_has_a_context_of_its_own(jobs: HandPlatform, report: FunctionHandler) -> None:
    from jobsplatform.kernel import context

    jobs.schedule(report, cron="0 * * * *")
    jobs.plan()
    with context.fresh(request_id="outer", user_id="someone", tenant_id="t"):
        jobs.plan_at(at("13:00"))
        assert context.current().request_id == "outer"
    (row,), made = jobs.ledger(), Job.objects.get()
    assert made.request_id == row.request_id != "outer"
    assert made.traceparent[3:35] == row.trace_id
    assert (made.user_id, made.tenant_id) == ("", "")


def test_each_fired_job_has_a_context_of_its_own(jobs: HandPlatform, report: FunctionHandler) -> None:
    for n in range(3):
        jobs.schedule(report, id=f"s{n}", cron="0 * * * *")
    jobs.plan()
    jobs.plan_at(at("13:00"))
    assert len(set(Job.objects.values_list("request_id", flat=True))) == 3
    assert len(set(Job.objects.values_list("traceparent", flat=True))) == 3


def test_the_job_carries_the_key_of_its_slot(jobs: HandPlatform, report: FunctionHandler) -> None:
    jobs.schedule(report, cron="0 * * * *")
    jobs.plan()
    jobs.plan_at(at("13:00"))
    assert IdempotencyKey.objects.get().key == "schedule:test::2026-01-01T13:00:00Z"


def test_planning_again_decides_nothing_again(jobs: HandPlatform, report: FunctionHandler) -> None:
    jobs.schedule(report, cron="0 * * * *")
    jobs.plan()
    jobs.plan_at(at("13:00"))
    ScheduleState.objects.update(next_due_at=clock.now())
    assert jobs.plan() == []
    assert ScheduleTriggerLog.objects.count() == Job.objects.count() == 1


def test_a_cursor_that_was_put_back_makes_no_slot_twice(jobs: HandPlatform, report: FunctionHandler) -> None:
    jobs.schedule(report, cron="*/10 * * * *")
    jobs.plan()
    jobs.plan_at(at("12:10"))
    jobs.plan_at(at("12:20"))
    ScheduleState.objects.update(last_planned_at=at("12:00"), next_due_at=at("12:10"))
    assert jobs.plan() == []
    assert ScheduleTriggerLog.objects.count() == Job.objects.count() == 2


def test_slots_before_the_creation_are_not_missed(jobs: HandPlatform, report: FunctionHandler) -> None:
    jobs.schedule(report, cron="1 11 * * *")
    assert jobs.plan() == []
    assert jobs.cursor().next_due_at == datetime(2026, 1, 2, 11, 1, tzinfo=UTC)


@pytest.mark.parametrize(
    ("misfire", "options", "fired", "others"),
    [
        ("skip", {}, [], [("skipped", "misfire", 3)]),
        ("run_once", {}, ["15:00"], [("coalesced", "coalesced into 2026-01-01T15:00:00Z", 2)]),
        ("catch_up_limited", {"misfire_limit": 2}, ["13:00", "14:00", "15:00"], []),
    ],
)
def test_an_outage_by_policy(
    jobs: HandPlatform,
    report: FunctionHandler,
    misfire: str,
    options: dict[str, int],
    fired: list[str],
    others: list[tuple[str, str, int]],
) -> None:
    jobs.schedule(report, cron="0 * * * *", misfire=misfire, config=options)
    jobs.plan()
    jobs.plan_at(at("15:30"))
    rows = jobs.ledger()
    assert [row.planned_at for row in rows if row.status == "fired"] == [at(each) for each in fired]
    told = [(row.status, row.reason, row.slot_count) for row in rows if row.status != "fired"]
    assert told == others
    assert Job.objects.count() == len(fired)


def test_a_round_of_catching_up_leaves_the_rest_to_the_next(
    jobs: HandPlatform, report: FunctionHandler
) -> None:
    jobs.schedule(report, cron="0 * * * *", misfire="catch_up_limited", config={"misfire_limit": 2})
    jobs.plan()
    jobs.advance(3 * 3600 + 60)
    done = planner.step(clock.now())
    assert (done.triggered, done.more) == (2, True)
    done = planner.step(clock.now())
    assert (done.triggered, done.more) == (1, False)
    assert set(Job.objects.values_list("origin", flat=True)) == {"catch_up", "live"} - {"live"}


def test_jitter_lets_the_job_wait(jobs: HandPlatform, report: FunctionHandler) -> None:
    jobs.schedule(report, cron="0 * * * *", config={"jitter_seconds": 600})
    jobs.plan()
    jobs.plan_at(at("13:00"))
    made = Job.objects.get()
    (row,) = jobs.ledger()
    assert row.planned_at == made.planned_at == at("13:00")
    assert at("13:00") <= made.due_at <= at("13:10")


def test_a_date_runs_once_and_never_again(jobs: HandPlatform, report: FunctionHandler) -> None:
    jobs.schedule(report, at="2026-01-01T13:00:00+00:00")
    jobs.plan()
    assert len(jobs.plan_at(at("13:00:02"))) == 1
    assert jobs.cursor().next_due_at is None
    ScheduleState.objects.update(next_due_at=clock.now())
    assert jobs.plan_at(at("14:00")) == []
    assert Job.objects.count() == 1


@pytest.mark.parametrize(("misfire", "status"), [("skip", "skipped"), ("run_once", "fired")])
def test_a_date_in_the_past_is_told_once(
    jobs: HandPlatform, report: FunctionHandler, misfire: str, status: str
) -> None:
    jobs.schedule(report, at="2026-01-01T11:00:00+00:00", misfire=misfire)
    jobs.plan()
    assert [row.status for row in jobs.ledger()] == [status]
    assert jobs.cursor().next_due_at is None


def test_two_dates_at_one_instant_and_fifty_more_each_run_once(
    jobs: HandPlatform, report: FunctionHandler
) -> None:
    for n in range(52):
        jobs.schedule(report, id=f"d{n}", at="2026-01-01T13:00:00+00:00")
    jobs.schedule(report, id="minute", cron="* * * * *")
    jobs.plan()
    jobs.plan_at(at("13:00"))
    jobs.plan_at(at("13:01"))
    fired = ScheduleTriggerLog.objects.filter(status="fired")
    assert fired.exclude(schedule_id="minute").count() == 52
    assert fired.filter(schedule_id="minute", planned_at=at("13:01")).exists()


def test_max_runs_ends_a_schedule(jobs: HandPlatform, report: FunctionHandler) -> None:
    jobs.schedule(report, cron="* * * * *", config={"max_runs": 2})
    jobs.plan()
    for minute in range(1, 5):
        jobs.plan_at(at(f"12:0{minute}"))
    assert Job.objects.count() == 2
    assert jobs.cursor().next_due_at is None and jobs.cursor().fired == 2


def test_an_interval_stays_on_its_phase(jobs: HandPlatform, report: FunctionHandler) -> None:
    jobs.schedule(report, every=60)
    jobs.plan()
    for _ in range(20):
        jobs.advance(60.9)
        jobs.plan()
    planned = [row.planned_at for row in jobs.ledger() if row.status == "fired"]
    assert all((instant - at("12:00")).total_seconds() % 60 == 0 for instant in planned)
    assert len(planned) == 20


def test_a_skipped_slot_is_told_and_forgotten(jobs: HandPlatform, report: FunctionHandler) -> None:
    jobs.schedule(report, cron="0 * * * *")
    jobs.plan()
    ScheduleState.objects.update(skips=["2026-01-01T13:00:00Z"])
    jobs.plan_at(at("13:00"))
    assert [(row.status, row.reason) for row in jobs.ledger()] == [("skipped", "skipped once")]
    assert jobs.cursor().skips == []
    jobs.plan_at(at("14:00"))
    assert [row.status for row in jobs.ledger()] == ["skipped", "fired"]


def test_an_exclusive_type_skips_its_tick(jobs: HandPlatform) -> None:
    @job("plan.alone", exclusive=True)
    def alone() -> None:
        return None

    jobs.schedule(alone, cron="* * * * *")
    jobs.plan()
    jobs.plan_at(at("12:01"))
    jobs.plan_at(at("12:02"))
    assert [(row.status, row.reason) for row in jobs.ledger()] == [
        ("fired", ""),
        ("skipped", "already_running"),
    ]
    assert Job.objects.count() == 1
    assert jobs.cursor().fired == 1
    assert jobs.cursor().last_fired_at == at("12:01") and jobs.cursor().last_planned_at == at("12:02")


def test_the_overlap_of_the_schedule_goes_with_the_job(jobs: HandPlatform) -> None:
    @job("plan.alone", exclusive=True)
    def alone() -> None:
        return None

    jobs.schedule(alone, cron="* * * * *", overlap="buffer_all", latest_start_seconds=90.0)
    jobs.plan()
    jobs.plan_at(at("12:01"))
    jobs.plan_at(at("12:02"))
    made = list(Job.objects.order_by("planned_at"))
    assert [row.status for row in jobs.ledger()] == ["fired", "fired"]
    assert [each.overlap for each in made] == ["buffer_all", "buffer_all"]
    assert {each.overlap_key for each in made} == {"schedule:test:"}
    assert made[0].latest_start_at == at("12:02:30")


def test_what_was_decided_is_told_after_the_commit(jobs: HandPlatform, report: FunctionHandler) -> None:
    jobs.schedule(report, cron="0 * * * *")
    jobs.plan()
    jobs.plan_at(at("15:00:01"), instance="beat-1")
    told = jobs.told(SlotDecided)
    assert [(each.status, each.slots, each.decided_by) for each in told] == [
        ("fired", 1, "beat-1"),
        ("coalesced", 2, "beat-1"),
    ]
    assert told[0].late_ms == 1000 and isinstance(told[0].task_id, UUID)


def test_automatic_slots_write_no_audit_row(jobs: HandPlatform, report: FunctionHandler) -> None:
    from jobsplatform.kernel.models import AuditEvent

    jobs.schedule(report, cron="0 * * * *")
    jobs.plan()
    before = AuditEvent.objects.count()
    jobs.plan_at(at("13:00"))
    assert AuditEvent.objects.count() == before


def test_the_log_says_who_decided_and_when_the_row_may_go(
    jobs: HandPlatform, report: FunctionHandler
) -> None:
    from scheduler.tickets import Hand

    jobs.schedule(report, cron="0 * * * *", log_days=3)
    jobs.plan()
    jobs.plan_at(at("13:00"), hand=Hand("beat-1", "scheduler:turn", 7))
    (row,) = jobs.ledger()
    assert (row.decided_by, row.lock_key, row.fencing_token) == ("beat-1", "scheduler:turn", 7)
    assert row.purge_at == at("13:00") + timedelta(days=3)
    assert row.revision == 1


def test_only_one_schedule_is_planned_when_asked(jobs: HandPlatform, report: FunctionHandler) -> None:
    jobs.schedule(report, id="a", cron="0 * * * *")
    jobs.schedule(report, id="b", cron="0 * * * *")
    jobs.plan()
    jobs.advance(3600)
    done = planner.step(clock.now(), only=("b", None))
    assert [each.schedule_id for each in done.results] == ["b"]
    assert [each.schedule_id for each in jobs.plan()] == ["a"]


def test_a_step_takes_the_longest_due_first(jobs: HandPlatform, report: FunctionHandler) -> None:
    jobs.schedule(report, id="b", cron="5 * * * *")
    jobs.schedule(report, id="a", cron="10 * * * *")
    jobs.plan()
    jobs.advance(700)
    done = planner.step(clock.now(), limit=1)
    assert [each.schedule_id for each in done.results] == ["b"] and done.more
    assert [each.schedule_id for each in jobs.plan()] == ["a"]


def test_next_due_is_the_earliest_of_all(jobs: HandPlatform, report: FunctionHandler) -> None:
    assert planner.next_due() is None
    assert planner.step(clock.now()).next_due_at is None
    jobs.schedule(report, id="a", cron="0 * * * *")
    jobs.schedule(report, id="b", cron="30 * * * *")
    jobs.plan()
    assert planner.next_due() == planner.step(clock.now()).next_due_at == at("12:30")


def test_a_clock_that_was_set_back_does_not_silence_a_schedule(
    jobs: HandPlatform, report: FunctionHandler
) -> None:
    jobs.clock.advance(5 * 3600 - 120)  # 16:58
    jobs.schedule(report, cron="* * * * *")
    jobs.plan()
    jobs.plan_at(at("16:59"))
    jobs.plan_at(at("17:00"))
    jobs.clock.advance(-(2 * 3600 - 60))  # 15:01
    jobs.plan()
    fired = []
    for minute in range(2, 5):
        fired += [each.planned_at for each in jobs.plan_at(at(f"15:0{minute}"))]
    assert fired == [at("15:02"), at("15:03"), at("15:04")]
    jobs.plan_at(at("16:58"))
    assert jobs.plan_at(at("17:00")) == []  # both slots are on record
    assert [each.planned_at for each in jobs.plan_at(at("17:01"))] == [at("17:01")]


def test_a_subscriber_that_raises_harms_no_slot(jobs: HandPlatform, report: FunctionHandler) -> None:
    def broken(event: SlotDecided) -> None:
        raise RuntimeError("subscriber")

    events.subscribe(SlotDecided, broken)
    try:
        jobs.schedule(report, cron="0 * * * *")
        jobs.plan()
        jobs.plan_at(at("13:00"))
    finally:
        events.unsubscribe(SlotDecided, broken)
    assert Job.objects.filter(state=State.PENDING).count() == 1


def test_an_archived_schedule_plans_nothing(jobs: HandPlatform, report: FunctionHandler) -> None:
    from scheduler import cursors

    jobs.schedule(report, cron="0 * * * *")
    jobs.plan()
    Schedule.objects.update(archived_at=clock.now())
    cursors.applied(["test"])
    assert jobs.plan_at(at("13:00")) == []
    assert jobs.cursor().next_due_at is None and not jobs.ledger()


def test_a_scheduler_whose_clock_is_behind_makes_no_slot_before_the_creation_due(
    jobs: HandPlatform, report: FunctionHandler
) -> None:
    jobs.schedule(report, cron="*/10 * * * *", misfire="catch_up_limited")
    jobs.plan()
    right = clock.now()
    planner.step(right - timedelta(hours=1))  # the cursor follows it
    planner.step(right + timedelta(minutes=5))
    assert not jobs.ledger()
    planner.step(right + timedelta(minutes=10))
    assert [row.planned_at for row in jobs.ledger()] == [at("12:10")]
