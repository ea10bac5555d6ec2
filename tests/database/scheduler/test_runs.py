"""Run now, skip the next slot, and back."""

from __future__ import annotations

import pytest

from jobsplatform.kernel.errors import InvalidInput, ParamsInvalid, UnknownName
from jobsplatform.kernel.models import AuditEvent
from jobsplatform.testing.platform import HandPlatform
from scheduler import control, pauses
from scheduler.errors import ScheduleNotFound, ScheduleTriggerConflict
from scheduler.models import ScheduleTriggerLog
from tasks.handlers import job
from tasks.models import Job
from tests.database.scheduler.tools import ACTOR, at, audited, create, decided, edit, fired, state, turn


@pytest.fixture(autouse=True)
def work(jobs: HandPlatform) -> None:
    @job("tests.work")
    def work(n: int = 0) -> None: ...

    @job("tests.alone", exclusive=True)
    def alone() -> None: ...


def test_a_run_now_takes_no_slot_and_moves_none(jobs: HandPlatform) -> None:
    create(every=86_400, anchor="2026-01-01T01:00:00Z")
    jobs.clock.set(at(12, 30))
    result = control.run_now("s", key="k", actor=ACTOR)
    assert (result.status, result.planned_at, result.replayed) == ("fired", None, False)
    made = Job.objects.get(id=result.task_id)
    assert (made.origin, made.user_id, made.schedule_id) == ("manual", "anna", "s")
    assert state().next_due_at == at(1, day=2)
    assert ScheduleTriggerLog.objects.get().origin == "manual:k"
    event = audited("schedule.run_now")
    assert event.after["task_id"] == result.task_id


def test_a_key_runs_once(jobs: HandPlatform) -> None:
    create()
    first = control.run_now("s", key="k", actor=ACTOR)
    second = control.run_now("s", key="k", actor=ACTOR)
    assert second.replayed and second.task_id == first.task_id
    assert control.run_now("s", key="l", actor=ACTOR).task_id != first.task_id
    assert AuditEvent.objects.filter(action="schedule.run_now").count() == 2


def test_it_works_while_paused_and_with_other_params(jobs: HandPlatform) -> None:
    create(params={"n": 1})
    pauses.pause("all", actor=ACTOR)
    pauses.pause("schedule", "s", actor=ACTOR)
    made = control.run_now("s", key="k", params={"n": 5}, actor=ACTOR)
    assert Job.objects.get(id=made.task_id).params == {"n": 5}
    with pytest.raises(ScheduleTriggerConflict):
        control.run_now("s", key="k", params={"n": 6}, actor=ACTOR)


def test_refused_params_run_nothing(jobs: HandPlatform) -> None:
    create()
    with pytest.raises(ParamsInvalid, match="'m'"):
        control.run_now("s", key="k", params={"m": 5}, actor=ACTOR)
    assert not Job.objects.exists()
    assert not AuditEvent.objects.filter(action="schedule.run_now").exists()


def test_one_at_a_time_is_told_and_force_waits_for_its_turn(jobs: HandPlatform) -> None:
    create(job="tests.alone", cron="0 0 * * *")
    assert control.run_now("s", key="a", actor=ACTOR).status == "fired"
    second = control.run_now("s", key="b", actor=ACTOR)
    assert (second.status, second.reason) == ("skipped", "already_running")
    forced = control.run_now("s", key="c", force=True, actor=ACTOR)
    assert forced.status == "fired"
    assert Job.objects.count() == 2


def test_a_slot_is_decided_once_whoever_asks(jobs: HandPlatform) -> None:
    create()
    turn(jobs, at(12, 1))
    again = control.run_now("s", key="k", planned_at=at(12, 1), actor=ACTOR)
    assert again.replayed and again.status == "fired"
    early = control.run_now("s", key="k", planned_at=at(12, 2), actor=ACTOR)
    assert not early.replayed
    turn(jobs, at(12, 3))
    assert fired() == ["12:01:00", "12:02:00", "12:03:00"]
    with pytest.raises(InvalidInput, match="no slot"):
        control.run_now("s", key="k", planned_at=at(12, 1, 30), actor=ACTOR)


def test_who_and_what_cannot_run_is_told(jobs: HandPlatform) -> None:
    create(tenants=["acme"])
    with pytest.raises(ScheduleNotFound):
        control.run_now("zz", key="k", actor=ACTOR)
    for tenant_id in ("", "acne"):
        with pytest.raises(UnknownName, match="acme"):
            control.run_now("s", key="k", tenant_id=tenant_id, actor=ACTOR)
    for key in ("", "x" * 400, "a\x00b"):
        with pytest.raises(InvalidInput, match="key"):
            control.run_now("s", key=key, tenant_id="acme", actor=ACTOR)
    with pytest.raises(InvalidInput, match="aware"):
        control.run_now("s", key="k", tenant_id="acme", planned_at=at(13).replace(tzinfo=None), actor=ACTOR)


# -- skipping ----------------------------------------------------------------------------------------


def test_the_next_slot_is_skipped_and_the_one_after_runs(jobs: HandPlatform) -> None:
    create()
    assert control.skip_next("s", actor=ACTOR) == at(12, 1)
    assert control.skip_next("s", planned_at=at(12, 3), actor=ACTOR) == at(12, 3)
    turn(jobs, at(12, 4))
    assert fired() == ["12:02:00", "12:04:00"]
    rows = ScheduleTriggerLog.objects.filter(status="skipped")
    assert {row.reason for row in rows} == {"skipped once"}
    assert AuditEvent.objects.filter(action="schedule.skip").count() == 2


def test_a_skip_can_be_taken_back_before_its_time(jobs: HandPlatform) -> None:
    create()
    control.skip_next("s", actor=ACTOR)
    control.skip_next("s", actor=ACTOR)
    assert control.unskip("s", actor=ACTOR) == at(12, 2)
    turn(jobs, at(12, 2))
    assert decided() == [("12:01:00", "skipped", 1), ("12:02:00", "fired", 1)]
    with pytest.raises(InvalidInput, match="no slot is to be skipped"):
        control.unskip("s", actor=ACTOR)
    with pytest.raises(InvalidInput, match="not to be skipped"):
        control.unskip("s", planned_at=at(13), actor=ACTOR)


def test_skipping_the_same_slot_twice_changes_nothing(jobs: HandPlatform) -> None:
    create()
    control.skip_next("s", planned_at=at(12, 1), actor=ACTOR)
    control.skip_next("s", planned_at=at(12, 1), actor=ACTOR)
    assert state().skips == ["2026-01-01T12:01:00Z"]
    assert AuditEvent.objects.filter(action="schedule.skip").count() == 1


def test_what_cannot_be_skipped_is_told(jobs: HandPlatform) -> None:
    create()
    with pytest.raises(InvalidInput, match="The next one is 2026-01-01T12:01:00Z"):
        control.skip_next("s", planned_at=at(12, 1, 30), actor=ACTOR)
    with pytest.raises(InvalidInput, match="no coming slot"):
        control.skip_next("s", planned_at=at(11), actor=ACTOR)
    create("m", manual=True)
    with pytest.raises(InvalidInput, match="no coming slot"):
        control.skip_next("m", actor=ACTOR)
    create("e", every=60, from_="last_end")
    with pytest.raises(InvalidInput, match="follow the ends"):
        control.skip_next("e", actor=ACTOR)


def test_an_edit_keeps_the_skips_that_are_still_slots(jobs: HandPlatform) -> None:
    create()
    control.skip_next("s", planned_at=at(12, 4), actor=ACTOR)
    control.skip_next("s", planned_at=at(12, 5), actor=ACTOR)
    edit(cron="*/2 * * * *")
    assert state().skips == ["2026-01-01T12:04:00Z"]
    turn(jobs, at(12, 6))
    assert fired() == ["12:02:00", "12:06:00"]


def test_a_double_click_in_the_second_of_a_slot_runs_one_and_loses_neither(jobs: HandPlatform) -> None:
    create(job="tests.alone")
    jobs.clock.set(at(12, 1))
    first = control.run_now("s", key="click", actor=ACTOR)
    second = control.run_now("s", key="click", actor=ACTOR)
    turn(jobs, at(12, 1))
    assert second.replayed and second.task_id == first.task_id
    assert Job.objects.count() == 1
    row = ScheduleTriggerLog.objects.get(origin="auto")
    assert (row.planned_at, row.status, row.reason) == (at(12, 1), "skipped", "already_running")
