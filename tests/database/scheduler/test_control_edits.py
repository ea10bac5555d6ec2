"""Making, editing and archiving schedules: what moves a cursor, what does not, and what a new rule may fire."""

from __future__ import annotations

from collections.abc import Callable

import pytest
from django.db import transaction

from jobsplatform.kernel.models import AuditEvent, Tenant
from jobsplatform.testing.platform import HandPlatform
from scheduler import control, definition, impact, wakeups
from scheduler.errors import (
    ScheduleArchived,
    ScheduleConflict,
    ScheduleExists,
    ScheduleInvalid,
    ScheduleNotFound,
    ScheduleReadOnly,
)
from scheduler.events import ScheduleMended
from scheduler.models import Schedule, ScheduleState, ScheduleTriggerLog
from tasks.handlers import job
from tests.database.scheduler.tools import (
    ACTOR,
    at,
    audited,
    create,
    decided,
    edit,
    fired,
    spec,
    state,
    tick,
    turn,
)


@pytest.fixture(autouse=True)
def work(jobs: HandPlatform) -> None:
    @job("tests.work")
    def work(n: int = 0) -> None: ...


# -- making ------------------------------------------------------------------------------------------


def test_a_new_schedule_has_no_slots_before_its_making(jobs: HandPlatform) -> None:
    jobs.clock.set(at(11, 30))
    for name, cron in (("a", "1 11 * * *"), ("b", "2 11 * * *"), ("c", "0 12 * * *")):
        create(name, cron=cron, misfire="run_once", grace=3600)
    tick()
    assert not ScheduleTriggerLog.objects.exists()
    assert state("c").next_due_at == at(12)
    assert state("a").next_due_at == at(11, 1, day=2)
    turn(jobs, at(13))
    assert (fired("a"), fired("b"), fired("c")) == ([], [], ["12:00:00"])


@pytest.mark.parametrize(
    ("misfire", "status", "runs"), [("skip", "skipped", []), ("run_once", "fired", ["11:00:00"])]
)
def test_a_date_in_the_past_is_decided_once_by_its_policy(
    jobs: HandPlatform, misfire: str, status: str, runs: list[str]
) -> None:
    create(at="2026-01-01T11:00:00Z", misfire=misfire)
    tick()
    turn(jobs, at(14))
    assert decided() == [("11:00:00", status, 1)]
    assert fired() == runs
    assert state().next_due_at is None


def test_a_taken_id_is_refused(jobs: HandPlatform) -> None:
    create()
    with pytest.raises(ScheduleExists, match="already"):
        create()
    control.archive("s", actor=ACTOR)
    with pytest.raises(ScheduleExists, match="restore"):
        create()


def test_nothing_is_stored_of_what_is_refused(jobs: HandPlatform) -> None:
    with pytest.raises(ScheduleInvalid, match="misfire"):
        create(misfire="")
    for length in (201, 255, 5000):
        with pytest.raises(ScheduleInvalid, match="at most 200 characters"):
            create("x" * length)
    assert not Schedule.objects.exists() and not ScheduleState.objects.exists()
    assert not AuditEvent.objects.exists()


@pytest.mark.parametrize(
    "name", ["Überprüfung nachts", "夜間バックアップ", "🚀 nightly", "نسخ", "it's 100 %\"", "x" * 200]
)
def test_names_of_any_script_run(jobs: HandPlatform, name: str) -> None:
    create(name)
    turn(jobs, at(12, 1))
    assert fired(name) == ["12:01:00"]


def test_one_that_is_made_disabled_begins_paused(jobs: HandPlatform) -> None:
    create(enabled=False)
    turn(jobs, at(12, 5))
    assert fired() == []


# -- editing -----------------------------------------------------------------------------------------


def test_an_edit_takes_effect_at_once_and_fires_nothing_of_the_past(jobs: HandPlatform) -> None:
    create(cron="0 0 * * *", misfire="run_once")
    jobs.clock.set(at(12, 10))
    edit(cron="12 12 * * *")
    assert state().next_due_at == at(12, 12)
    turn(jobs, at(13))
    assert fired() == ["12:12:00"]
    edit(cron="30 12 * * *")
    tick()
    assert fired() == ["12:12:00"]
    assert state().next_slot_at == at(12, 30, day=2)


def test_what_is_due_is_decided_by_the_old_rule_first(jobs: HandPlatform) -> None:
    create(cron="*/10 * * * *", misfire="run_once")
    jobs.clock.set(at(12, 25))
    edit(cron="*/7 * * * *")
    assert decided() == [("12:10:00", "coalesced", 1), ("12:20:00", "fired", 1)]
    turn(jobs, at(12, 35))
    assert fired() == ["12:20:00", "12:28:00", "12:35:00"]


def test_a_shortened_interval_counts_at_once_without_a_burst(jobs: HandPlatform) -> None:
    create(every=600, misfire="catch_up_limited", misfire_limit=100)
    jobs.clock.set(at(12, 1))
    edit(every=30)
    assert state().next_due_at == at(12, 1, 30)
    turn(jobs, at(12, 2))
    assert fired() == ["12:01:30", "12:02:00"]


def test_another_zone_is_computed_at_once(jobs: HandPlatform) -> None:
    create(cron="0 15 * * *")
    assert state().next_due_at == at(15)
    edit(timezone="Europe/Berlin")
    assert state().next_due_at == at(14)


def test_saving_a_description_moves_no_cursor_and_loses_no_slot(jobs: HandPlatform) -> None:
    create(cron="*/2 * * * *")
    edited = Schedule.objects.get().edited_at
    jobs.clock.set(at(12, 1, 30))
    before = state().last_planned_at
    for n in range(60):
        jobs.clock.advance(1)
        edit(description=f"text {n}")
        assert state().last_planned_at in (before, at(12, 2))
        tick()
    assert fired() == ["12:02:00"]
    assert Schedule.objects.get().edited_at == edited
    assert Schedule.objects.get().revision == 61


def test_saving_what_is_stored_already_is_no_edit(jobs: HandPlatform) -> None:
    create(every=60)
    jobs.clock.advance(30)
    row = edit()
    assert row.revision == 1
    assert not AuditEvent.objects.filter(action="schedule.updated").exists()


def test_params_count_from_the_next_slot_on(jobs: HandPlatform) -> None:
    create()
    edit(params={"n": 7})
    turn(jobs, at(12, 1))
    from tasks.models import Job

    assert Job.objects.get(schedule_id="s").params == {"n": 7}


def test_an_edit_needs_the_revision_that_was_read(jobs: HandPlatform) -> None:
    create()
    edit(description="by somebody else")
    with pytest.raises(ScheduleConflict, match="revision 1, it is at 2"):
        control.update("s", spec(cron="0 0 * * *"), revision=1, actor=ACTOR)
    assert Schedule.objects.get().trigger_config == {"cron": "* * * * *"}


def test_a_refused_edit_stores_nothing_and_decides_nothing(jobs: HandPlatform) -> None:
    create()
    jobs.clock.set(at(12, 5))
    with pytest.raises(ScheduleInvalid, match="cron"):
        edit(cron="99 * * * *")
    assert decided() == []
    with pytest.raises(ScheduleInvalid, match="keeps its id"):
        control.update("s", spec("t"), revision=1, actor=ACTOR)
    with pytest.raises(ScheduleNotFound, match="'s'"):
        control.update("ss", spec("ss"), revision=1, actor=ACTOR)


def test_an_edit_of_a_date_into_the_past_is_refused(jobs: HandPlatform) -> None:
    create(at="2026-01-02T00:00:00Z", misfire="run_once")
    with pytest.raises(ScheduleInvalid, match="has passed") as refused:
        edit(at="2026-01-01T11:59:00Z")
    assert refused.value.faults[0].field == "at"
    edit(at="2026-01-01T12:00:13Z")
    turn(jobs, at(12, 1))
    assert fired() == ["12:00:13"]


def test_a_faulty_schedule_is_mended_by_an_edit(jobs: HandPlatform) -> None:
    create()
    Schedule.objects.update(timezone="Asia/Nowhere")
    jobs.clock.set(at(12, 1))
    tick()
    assert Schedule.objects.get().fault
    edit(timezone="UTC")
    assert Schedule.objects.get().fault == ""
    assert jobs.told(ScheduleMended) == [ScheduleMended("s")]
    turn(jobs, at(12, 3))
    assert fired()[-2:] == ["12:02:00", "12:03:00"]


def test_a_rolled_back_edit_leaves_no_trace(jobs: HandPlatform) -> None:
    create()
    with pytest.raises(RuntimeError), transaction.atomic():
        edit(cron="0 0 * * *")
        raise RuntimeError
    assert state().next_due_at == at(12, 1)
    assert not AuditEvent.objects.filter(action="schedule.updated").exists()


def test_each_change_is_audited_with_before_and_after(jobs: HandPlatform) -> None:
    create(description="old")
    assert audited("schedule.created").after["trigger_config"] == {"cron": "* * * * *"}
    edit(description="new")
    event = audited("schedule.updated")
    assert (event.before, event.after) == ({"description": "old"}, {"description": "new"})
    assert (event.actor, event.target_id) == ("anna", "s")
    control.archive("s", actor=ACTOR)
    control.restore("s", actor=ACTOR)
    control.delete("s", actor=ACTOR)
    assert audited("schedule.archived").after == {"archived": True}
    assert audited("schedule.restored").after == {"archived": False}
    assert audited("schedule.deleted").before["description"] == "new"


def test_tenants_that_are_added_begin_now_and_removed_ones_end(jobs: HandPlatform) -> None:
    create(tenants=["a", "b"])
    jobs.clock.set(at(12, 1))
    tick()
    edit(tenants=["b", "c"])
    jobs.clock.set(at(12, 2))
    tick()
    rows = ScheduleTriggerLog.objects.order_by("planned_at", "tenant_id").values_list(
        "tenant_id", "planned_at"
    )
    assert list(rows) == [("a", at(12, 1)), ("b", at(12, 1)), ("b", at(12, 2)), ("c", at(12, 2))]
    Tenant.objects.create(tenant_id="d")
    edit(tenants="*")
    edit(tenants=None)
    assert list(ScheduleState.objects.values_list("tenant_id", flat=True)) == [""]
    edit(tenants="*")
    assert list(ScheduleState.objects.values_list("tenant_id", flat=True)) == ["d"]


def test_a_tenant_that_is_removed_has_its_due_slots_decided_first(jobs: HandPlatform) -> None:
    create(tenants=["a", "b"], misfire="run_once")
    jobs.clock.set(at(12, 2))
    edit(tenants=["b"])
    rows = ScheduleTriggerLog.objects.filter(tenant_id="a", status="fired")
    assert list(rows.values_list("planned_at", flat=True)) == [at(12, 2)]


def test_an_edit_upon_one_by_sql_keeps_both_apart(jobs: HandPlatform) -> None:
    create(misfire="run_once")
    jobs.clock.set(at(12, 3))
    Schedule.objects.update(trigger_config={"cron": "*/2 * * * *"})
    edit(timezone="Europe/Berlin", description="both")
    tick()
    assert fired() == []  # nobody knows what the rule was when they were due: neither fires them
    row = Schedule.objects.get()
    assert (row.trigger_config, row.revision) == ({"cron": "*/2 * * * *"}, 3)
    turn(jobs, at(12, 4))
    assert fired() == ["12:04:00"]


def test_what_has_ended_is_finished(jobs: HandPlatform) -> None:
    create(cron="0 15 * * *", end="2025-12-31T00:00:00Z")
    assert (state().next_due_at, state().next_slot_at) == (None, None)
    edit(cron="0 15 * * *", end=None, start="2026-01-01T11:58:00Z")
    assert state().next_due_at == at(15)
    edit(cron="0 15 * * *", start="2030-01-01T00:00:00Z")
    assert state().next_due_at is not None and state().next_due_at.year == 2030


def test_true_and_one_are_two_params(jobs: HandPlatform) -> None:
    @job("tests.any")
    def any_(v: object = None) -> None: ...

    create(job="tests.any", params={"v": 1})
    edit(params={"v": True})
    assert Schedule.objects.get().params == {"v": True} and Schedule.objects.get().revision == 2


def test_each_verb_rings_for_those_who_plan_once_it_has_committed(jobs: HandPlatform) -> None:
    rung: list[int] = []
    listener = wakeups.Listener(lambda: rung.append(1))
    listener.start()
    try:
        create()
        verbs: list[Callable[[], object]] = [
            lambda: edit(description="x"),
            lambda: control.pause("schedule", "s", actor=ACTOR),
            lambda: control.resume("schedule", "s", actor=ACTOR),
            lambda: control.skip_next("s", actor=ACTOR),
            lambda: control.unskip("s", actor=ACTOR),
            lambda: control.archive("s", actor=ACTOR),
            lambda: control.restore("s", actor=ACTOR),
        ]
        for verb in verbs:
            before = len(rung)
            with transaction.atomic():
                verb()
                assert len(rung) == before
            assert len(rung) > before
    finally:
        listener.stop()


# -- archiving ---------------------------------------------------------------------------------------


def test_an_archived_schedule_rests_and_a_restored_one_goes_on_from_now(jobs: HandPlatform) -> None:
    create(misfire="run_once")
    turn(jobs, at(12, 1))
    control.archive("s", actor=ACTOR)
    control.archive("s", actor=ACTOR)
    turn(jobs, at(12, 5))
    assert fired() == ["12:01:00"]
    with pytest.raises(ScheduleArchived):
        edit(description="x")
    with pytest.raises(ScheduleArchived):
        control.run_now("s", key="k", actor=ACTOR)
    control.restore("s", actor=ACTOR)
    turn(jobs, at(12, 6))
    assert fired() == ["12:01:00", "12:06:00"]


def test_the_log_outlives_a_deleted_schedule(jobs: HandPlatform) -> None:
    create(misfire="run_once")
    jobs.clock.set(at(12, 1))
    control.delete("s", actor=ACTOR)
    assert decided() == [("12:01:00", "fired", 1)]
    assert not ScheduleState.objects.exists()
    create()
    turn(jobs, at(12, 2))
    assert fired() == ["12:01:00", "12:02:00"]


def test_one_of_the_code_is_read_only_but_for_running_and_pausing(jobs: HandPlatform) -> None:
    create()
    Schedule.objects.update(source="code", module="shop.schedules")
    for verb in (control.archive, control.delete, control.restore):
        with pytest.raises(ScheduleReadOnly, match=r"shop\.schedules"):
            verb("s", actor=ACTOR)
    with pytest.raises(ScheduleReadOnly):
        edit(description="x")
    control.pause("schedule", "s", actor=ACTOR)
    control.resume("schedule", "s", actor=ACTOR)
    assert control.run_now("s", key="k", actor=ACTOR).ok
    control.skip_next("s", actor=ACTOR)


# -- before saving -----------------------------------------------------------------------------------


def test_the_impact_of_an_edit_is_told_without_writing(jobs: HandPlatform) -> None:
    row = create(cron="0 2 * * *", timezone="Europe/Berlin")
    now = at(12)
    told = impact.impact(spec(cron="30 2 * * *", timezone="Europe/Berlin"), now, standing=row)
    assert (len(told.added), len(told.removed)) == (89, 89)  # both run at the change of 29 March
    assert told.upcoming[0] == at(1, 30, day=2)
    assert [change.kind for change in told.clock_changes][:2] == ["gap", "fold"]
    same = impact.impact(definition.read(row), now, standing=row)
    assert (same.added, same.removed) == ((), ())
    new = impact.impact(spec("n", every=3600), now)
    assert len(new.added) == 100 and new.removed == ()
    with pytest.raises(ScheduleInvalid, match="timezone"):
        impact.impact(spec(timezone="Mars/Base"), now)
