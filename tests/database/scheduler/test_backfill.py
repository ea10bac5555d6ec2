"""Backfills: which slots they run, how many at once, and that nothing is doubled or lost."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from datetime import datetime, timedelta
from typing import Any

import pytest

from jobsplatform.kernel import clock
from jobsplatform.kernel.errors import InvalidInput, UnknownName
from jobsplatform.kernel.models import Tenant
from jobsplatform.testing.platform import HandPlatform
from scheduler import backfill, backfill_steps, control, pauses, trigger
from scheduler.errors import BackfillNotFound, ScheduleArchived, ScheduleNotFound
from scheduler.events import BackfillChanged
from scheduler.models import Backfill, Schedule, ScheduleTriggerLog
from scheduler.states import PauseScope, Status
from tasks.handlers import job
from tasks.models import Job
from tasks.states import State
from tests.database.scheduler.tools import ACTOR, at, audited, create, tick, turn

ran: list[datetime] = []


@pytest.fixture(autouse=True)
def work(jobs: HandPlatform) -> None:
    ran.clear()

    @job("tests.work", max_attempts=1)
    def work(context: Any, n: int = 0) -> None:
        ran.append(context.planned_at)
        if n:
            raise ValueError("as it was told to")


def hourly(**fields: Any) -> Schedule:
    return create(cron="0 * * * *", **{"misfire": "skip", **fields})


def start(first: int = 12, last: int = 16, mode: str = "missing", **more: Any) -> Backfill:
    return backfill.start("s", at(first), at(last), mode, actor=ACTOR, **more)


def finish(jobs: HandPlatform, rounds: int = 100) -> None:
    """Step and drain until no backfill is left."""
    for _ in range(rounds):
        while backfill.step(clock.now()):
            pass
        jobs.drain()
        jobs.advance(1.0)
        if not Backfill.objects.filter(state="running").exists():
            return
    raise AssertionError("the backfills do not end")


def choices(mode: str = "missing", first: int = 12, last: int = 16) -> dict[int, tuple[bool, str]]:
    found = backfill.preview("s", at(first), at(last), mode)
    return {choice.planned_at.hour: (choice.run, choice.reason) for choice in found.slots}


def slots_of(row: Backfill) -> list[tuple[int, str]]:
    rows = ScheduleTriggerLog.objects.filter(origin=f"backfill:{row.id}").order_by("planned_at")
    return [(found.planned_at.hour, found.status) for found in rows if found.planned_at]


# -- which slots -------------------------------------------------------------------------------------


def mixed(jobs: HandPlatform) -> None:
    """13 ran, 14 failed, 15 and 16 were missed."""
    hourly(params={"n": 0})
    turn(jobs, at(13))
    jobs.drain()
    Schedule.objects.update(params={"n": 1})
    turn(jobs, at(14))
    jobs.drain()
    Schedule.objects.update(params={"n": 0})
    jobs.advance((at(16, 30) - clock.now()).total_seconds())
    tick()


MODES = [
    ("missing", {13: False, 14: False, 15: True, 16: True}),
    ("failed", {13: False, 14: True, 15: False, 16: False}),
    ("all", {13: True, 14: True, 15: True, 16: True}),
]


@pytest.mark.parametrize(("mode", "wanted"), MODES)
def test_each_mode_runs_its_slots_as_the_preview_says(
    jobs: HandPlatform, mode: str, wanted: dict[int, bool]
) -> None:
    mixed(jobs)
    assert {hour: run for hour, (run, _) in choices(mode).items()} == wanted
    row = start(mode=mode)
    finish(jobs)
    row.refresh_from_db()
    assert [hour for hour, status in slots_of(row) if status == "fired"] == [
        h for h, run in wanted.items() if run
    ]
    assert row.state == "done" and row.ended_at is not None
    runs = sum(wanted.values())
    assert (row.total, row.submitted, row.passed_over, row.done, row.failed) == (4, runs, 4 - runs, runs, 0)


def test_every_choice_has_its_reason(jobs: HandPlatform) -> None:
    mixed(jobs)
    assert choices("missing") == {
        13: (False, "it fired"),
        14: (False, "it fired"),
        15: (True, "skipped: misfire"),
        16: (True, "skipped: misfire"),
    }
    assert choices("failed") == {
        13: (False, "its job completed"),
        14: (True, "its job ended: failed"),
        15: (False, "it did not fire (skipped)"),
        16: (False, "it did not fire (skipped)"),
    }
    assert choices("missing", 10, 12) == {
        11: (True, "nothing was decided about it"),
        12: (True, "nothing was decided about it"),
    }


def test_what_an_earlier_backfill_ran_is_neither_missing_nor_failed(jobs: HandPlatform) -> None:
    mixed(jobs)
    first = start(mode="all")
    finish(jobs)
    assert choices("missing")[15] == (False, f"it was run by backfill:{first.id}")
    assert choices("failed")[14] == (False, "its job completed")
    assert not any(run for run, _ in choices("missing").values())


def test_a_slot_whose_job_has_not_ended_is_not_failed(jobs: HandPlatform) -> None:
    hourly()
    turn(jobs, at(13))
    assert choices("failed", 12, 13) == {13: (False, "its job has not ended")}


def test_slots_that_the_schedule_itself_will_decide_are_left_to_it(jobs: HandPlatform) -> None:
    hourly()
    jobs.advance(2 * 3600)
    assert choices("missing", 12, 14) == {
        hour: (False, "it is not decided yet: the schedule itself does that") for hour in (13, 14)
    }
    assert all(run for run, _ in choices("all", 12, 14).values())


def test_slots_older_than_the_log_are_not_taken_for_missing(jobs: HandPlatform) -> None:
    hourly()
    turn(jobs, at(14))
    ScheduleTriggerLog.objects.all().delete()
    jobs.clock.set(at(14) + timedelta(days=40))
    assert {reason for _, reason in choices("missing", 12, 14).values()} == {
        "decisions of that age are not kept any more"
    }


def test_slots_of_a_range_row_are_told_one_by_one(jobs: HandPlatform) -> None:
    hourly()
    pauses.pause(PauseScope.SCHEDULE, "s", actor=ACTOR)
    jobs.clock.set(at(18, 30))
    pauses.resume(PauseScope.SCHEDULE, "s", actor=ACTOR)
    tick()
    assert ScheduleTriggerLog.objects.get().slot_count == 6
    assert choices("missing", 14, 17) == {hour: (True, "paused: paused") for hour in (15, 16, 17)}


# -- the jobs ----------------------------------------------------------------------------------------


def test_its_jobs_say_that_they_are_a_backfills(jobs: HandPlatform) -> None:
    hourly(params={"n": 0}, overlap="skip", latest_start=60)
    jobs.clock.set(at(20))
    row = start(12, 13, "all")
    backfill.step(clock.now())
    made = Job.objects.get()
    assert (made.origin, made.schedule_id, made.planned_at, made.window_start) == (
        "backfill",
        "s",
        at(13),
        at(12),
    )
    log = ScheduleTriggerLog.objects.get(origin=f"backfill:{row.id}")
    assert (log.task_id, log.decided_by, log.planned_at) == (made.id, "backfill of anna", at(13))
    jobs.drain()
    assert jobs.state(made.id) is State.COMPLETED  # old as its slot is, it is not late


def test_it_runs_as_many_at_once_as_it_may_and_no_more(jobs: HandPlatform) -> None:
    hourly()
    jobs.clock.set(at(23))
    row = start(12, 22, "all", concurrency=3)
    most = 0
    for _ in range(20):
        while backfill.step(clock.now()):
            pass
        open_jobs = Job.objects.filter(origin="backfill").exclude(state__in=["completed", "failed"]).count()
        most = max(most, open_jobs)
        assert open_jobs <= 3
        if jobs.worker.sent or jobs.worker.dispatch():
            jobs.worker.run()
        jobs.advance(1.0)
    finish(jobs)
    assert most == 3
    assert sorted(ran) == [at(hour) for hour in range(13, 23)]
    assert backfill.progress(backfill.find(row.id)).done == 10


def test_progress_counts_what_ended_since_the_last_step(jobs: HandPlatform) -> None:
    hourly(params={"n": 1})
    jobs.clock.set(at(20))
    row = start(12, 16, "all", concurrency=2)
    backfill.step(clock.now())
    row.refresh_from_db()
    assert backfill.progress(row).as_dict() == {
        "state": "running", "total": 4, "submitted": 2, "passed_over": 0, "done": 0, "failed": 0, "running": 2,
        "left": 2, "note": "",
    }  # fmt: skip
    jobs.worker.dispatch()
    jobs.worker.run()
    assert (backfill.progress(row).failed, backfill.progress(row).running) == (1, 1)
    finish(jobs)
    row.refresh_from_db()
    told = backfill.progress(row)
    assert (told.state, told.failed, told.done, told.running, told.left) == ("done", 4, 0, 0, 0)


def test_slots_that_cannot_be_made_jobs_are_counted_as_failed_and_stop_nothing(jobs: HandPlatform) -> None:
    hourly()
    Schedule.objects.update(params={"n": "many"})
    jobs.clock.set(at(20))
    row = start(12, 15, "all")
    finish(jobs)
    row.refresh_from_db()
    assert (row.state, row.submitted, row.failed) == ("done", 0, 3)
    assert backfill.progress(row).left == 0
    assert [status for _, status in slots_of(row)] == ["failed"] * 3


def test_a_paused_schedule_can_be_backfilled(jobs: HandPlatform) -> None:
    hourly()
    pauses.pause(PauseScope.SCHEDULE, "s", actor=ACTOR)
    jobs.clock.set(at(20))
    start(12, 15, "all")
    finish(jobs)
    assert ran == [at(13), at(14), at(15)]


def test_one_tenant_of_a_schedule(jobs: HandPlatform) -> None:
    for tenant in ("t1", "t2"):
        Tenant.objects.create(tenant_id=tenant)
    hourly(tenants=["t1", "t2"])
    turn(jobs, at(13))
    jobs.clock.set(at(14, 30))
    tick()
    start(12, 14, tenant_id="t1")
    finish(jobs)
    found = Job.objects.filter(origin="backfill").values_list("tenant_id", "planned_at")
    assert list(found) == [("t1", at(14))]


# -- nothing doubled, nothing lost -------------------------------------------------------------------


def test_stepping_again_at_once_submits_nothing_more(jobs: HandPlatform) -> None:
    hourly()
    jobs.clock.set(at(20))
    start(12, 16, "all", concurrency=2)
    for _ in range(5):
        backfill.step(clock.now())
    assert Job.objects.count() == 2


@pytest.mark.parametrize("crash", range(1, backfill.BEGUN_AT_ONCE + 1))
def test_after_a_crash_it_goes_on_where_it_was(
    jobs: HandPlatform, monkeypatch: pytest.MonkeyPatch, crash: int
) -> None:
    """The n-th write of the trigger log is where the process dies: before its commit."""
    hourly()
    jobs.clock.set(at(20))
    row = start(12, 19, "all", concurrency=7)
    real, calls = trigger.trigger, Counter[str]()

    class Dead(BaseException):
        pass

    def dying(*given: Any) -> Any:
        result = real(*given)
        calls["n"] += 1
        if calls["n"] == crash:
            raise Dead
        return result

    monkeypatch.setattr(trigger, "trigger", dying)
    with pytest.raises(Dead):
        backfill.step(clock.now())
    row.refresh_from_db()
    assert (row.cursor, row.submitted, Job.objects.count()) == (at(12), 0, 0)
    finish(jobs)
    assert sorted(ran) == [at(hour) for hour in range(13, 20)]


def test_a_cursor_that_was_lost_doubles_nothing(jobs: HandPlatform) -> None:
    hourly()
    jobs.clock.set(at(20))
    row = start(12, 16, "all", concurrency=4)
    backfill.step(clock.now())
    Backfill.objects.update(cursor=at(12), next_look_at=clock.now(), open=[], submitted=0)
    finish(jobs)
    assert sorted(ran) == [at(hour) for hour in range(13, 17)]
    assert len(slots_of(row)) == 4


def test_twelve_at_once_beside_live_slots_all_get_on(jobs: HandPlatform) -> None:
    hourly()
    for n in range(12):
        create(f"b{n}", cron="0 * * * *")
    create("live", cron="* * * * *", misfire="skip", grace=8)
    jobs.clock.set(at(20))
    tick()
    rows = [backfill.start(f"b{n}", at(0), at(12), "all", actor=ACTOR) for n in range(12)]
    for minute in range(1, 6):
        jobs.advance((at(20, minute) - clock.now()).total_seconds())
        tick()
        for _ in range(2):
            backfill.step(clock.now(), limit=6)
        jobs.drain()
    done = [backfill.progress(backfill.find(row.id)).submitted for row in rows]
    assert min(done) >= 1, done  # none of them waits for another's end
    live = Job.objects.filter(schedule_id="live", origin="live", planned_at__gt=at(20))
    assert list(live.values_list("state", flat=True)) == ["completed"] * 5
    finish(jobs)
    assert {backfill.find(row.id).done for row in rows} == {12}
    assert Counter(ran)[at(5)] == 12


def test_when_a_round_has_no_time_for_all_each_gets_its_turn(
    jobs: HandPlatform, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(backfill_steps, "BUDGET_SECONDS", 0.0)
    for n in range(4):
        create(f"b{n}", cron="0 * * * *")
    jobs.clock.set(at(20))
    rows = [backfill.start(f"b{n}", at(0), at(12), "all", actor=ACTOR, concurrency=12) for n in range(4)]
    seen = []
    for _ in range(8):
        jobs.advance(0.01)
        backfill.step(clock.now())
        seen.append(sorted(backfill.find(row.id).submitted for row in rows))
    a_turn = backfill.BEGUN_AT_ONCE
    assert seen[3] == [a_turn] * 4 and seen[7] == [2 * a_turn] * 4


def test_a_step_is_bounded(jobs: HandPlatform) -> None:
    create(every=1, misfire="skip")
    jobs.clock.set(at(14))
    backfill.start("s", at(12), at(14), "all", actor=ACTOR, concurrency=100)
    assert backfill.step(clock.now(), limit=50) <= 50
    assert Job.objects.filter(origin="backfill").count() <= backfill.BEGUN_AT_ONCE


# -- ends --------------------------------------------------------------------------------------------


def test_cancelled_it_begins_no_more_and_lets_its_jobs_end(jobs: HandPlatform) -> None:
    hourly()
    jobs.clock.set(at(20))
    row = start(12, 16, "all")
    backfill.step(clock.now())
    cancelled = backfill.cancel(row.id, actor=ACTOR)
    assert (cancelled.state, cancelled.note) == ("cancelled", "cancelled by anna")
    jobs.drain()
    jobs.advance(60)
    assert backfill.step(clock.now()) == 0
    assert ran == [at(13)]
    assert backfill.progress(backfill.find(row.id)).done == 1
    again = backfill.cancel(row.id, actor=ACTOR)
    assert again.ended_at == cancelled.ended_at
    event = audited("schedules.backfill_cancel")
    assert (event.actor, event.target_id) == ("anna", str(row.id))


def test_a_start_is_audited_and_told(jobs: HandPlatform) -> None:
    hourly()
    jobs.clock.set(at(20))
    row = start(12, 16, "failed")
    event = audited("schedules.backfill")
    assert event.after["mode"] == "failed" and event.after["total"] == 4
    finish(jobs)
    assert [told.state for told in jobs.told(BackfillChanged)] == ["running", "done"]
    assert row.author == "anna"


def test_an_archived_schedule_ends_its_backfills(jobs: HandPlatform) -> None:
    hourly()
    jobs.clock.set(at(20))
    row = start(12, 16, "all")
    control.archive("s", actor=ACTOR)
    backfill.step(clock.now())
    row.refresh_from_db()
    assert (row.state, row.note) == ("cancelled", "its schedule was archived or removed")


def broken(jobs: HandPlatform) -> None:
    Schedule.objects.update(trigger_config={"cron": "61 * * * *"})


def unknown_type(jobs: HandPlatform) -> None:
    Schedule.objects.update(job_type="tests.wrok")


def parked(jobs: HandPlatform) -> None:
    Schedule.objects.update(fault="Unknown zone 'Mars'.", fault_at=clock.now())


@pytest.mark.parametrize("breaking", [broken, unknown_type, parked])
def test_of_a_faulty_schedule_it_waits_and_uses_up_no_slot(
    jobs: HandPlatform, breaking: Callable[[HandPlatform], None]
) -> None:
    hourly()
    create("other", cron="0 * * * *")
    jobs.clock.set(at(20))
    row = start(12, 14, "all")
    backfill.start("other", at(12), at(14), "all", actor=ACTOR)
    sound = Schedule.objects.get(id="s")
    breaking(jobs)
    if breaking is not parked:
        Schedule.objects.filter(id="other").update(
            trigger_config=sound.trigger_config, job_type=sound.job_type
        )
    else:
        Schedule.objects.filter(id="other").update(fault="", fault_at=None)
    for _ in range(3):
        backfill.step(clock.now())
        jobs.drain()
        jobs.advance(1)
    row.refresh_from_db()
    assert (row.state, row.submitted, row.cursor) == ("running", 0, at(12)) and row.note
    assert Job.objects.filter(schedule_id="other").count() == 2  # the others go on
    sound.save()
    jobs.advance(60)
    finish(jobs)
    assert backfill.find(row.id).done == 2 and backfill.find(row.id).note == ""


# -- refusals ----------------------------------------------------------------------------------------

REFUSED = [
    ({"schedule_id": "t"}, ScheduleNotFound, "Unknown schedule 't'"),
    ({"mode": "mising"}, UnknownName, "Did you mean 'missing'"),
    ({"until": at(12)}, InvalidInput, "until: 2026-01-01T12:00:00Z is not after"),
    ({"until": at(21)}, InvalidInput, "lies in the future"),
    ({"after": datetime(2026, 1, 1)}, InvalidInput, "after: expected an instant with an offset"),  # noqa: DTZ001
    (
        {"after": at(13, 1), "until": at(13, 2)},
        InvalidInput,
        "no slot in that range. The nearest: 2026-01-01T13",
    ),
    ({"after": datetime.fromisoformat("2010-01-01T00:00Z")}, InvalidInput, "at most 10,000"),
    ({"concurrency": 0}, InvalidInput, "from 1 to 100, got 0"),
    ({"concurrency": 101}, InvalidInput, "from 1 to 100, got 101"),
    ({"tenant_id": "t1"}, InvalidInput, "runs for the whole host"),
]


@pytest.mark.parametrize(("given", "error", "told"), REFUSED)
def test_what_cannot_be_is_refused_and_nothing_is_stored(
    jobs: HandPlatform, given: dict[str, Any], error: type[Exception], told: str
) -> None:
    hourly()
    jobs.clock.set(at(20))
    wanted = {"schedule_id": "s", "after": at(12), "until": at(16), "mode": "missing", **given}
    with pytest.raises(error, match=told.replace("(", r"\(")):
        backfill.start(**wanted, actor=ACTOR)
    assert not Backfill.objects.exists()


@pytest.mark.parametrize(
    ("fields", "told"),
    [({"manual": True}, "has no timetable"), ({"every": "1h", "from_": "last_end"}, "follow the end")],
)
def test_schedules_without_slots_are_refused(jobs: HandPlatform, fields: dict[str, Any], told: str) -> None:
    create(**fields)
    jobs.clock.set(at(20))
    with pytest.raises(InvalidInput, match=told):
        start()


def test_an_archived_schedule_is_refused(jobs: HandPlatform) -> None:
    hourly()
    jobs.clock.set(at(20))
    control.archive("s", actor=ACTOR)
    with pytest.raises(ScheduleArchived):
        start()


def test_unknown_backfills(jobs: HandPlatform) -> None:
    for wrong in ("", "b1", "0198c0de-0000-7000-8000-000000000000"):
        with pytest.raises(BackfillNotFound):
            backfill.cancel(wrong, actor=ACTOR)


def test_the_live_slots_keep_their_decisions(jobs: HandPlatform) -> None:
    mixed(jobs)
    before = list(ScheduleTriggerLog.objects.filter(origin="auto").order_by("id").values())
    start(mode="all")
    finish(jobs)
    assert list(ScheduleTriggerLog.objects.filter(origin="auto").order_by("id").values()) == before
    assert Counter(row.status for row in ScheduleTriggerLog.objects.exclude(origin="auto")) == {
        Status.FIRED: 4
    }
