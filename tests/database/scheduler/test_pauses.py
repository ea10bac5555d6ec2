"""Pausing a schedule, a tenant and everything; what becomes of the slots in between."""

from __future__ import annotations

from datetime import timedelta

import pytest
from django.db import connection
from django.test.utils import CaptureQueriesContext

from jobsplatform.kernel.errors import InvalidInput, UnknownName
from jobsplatform.kernel.models import AuditEvent, Tenant
from jobsplatform.testing.platform import HandPlatform
from scheduler import control, pauses
from scheduler.errors import ScheduleArchived, ScheduleNotFound
from scheduler.models import Pause, ScheduleState
from tasks.handlers import job
from tests.database.scheduler.tools import ACTOR, at, audited, create, decided, edit, fired, state, tick, turn


@pytest.fixture(autouse=True)
def work(jobs: HandPlatform) -> None:
    @job("tests.work")
    def work(n: int = 0) -> None: ...


def test_nothing_fires_while_paused_and_the_slots_are_told_as_paused(jobs: HandPlatform) -> None:
    create()
    jobs.clock.set(at(12, 0, 30))
    pauses.pause("schedule", "s", actor=ACTOR, reason="stocktaking")
    assert state().next_due_at is None
    turn(jobs, at(12, 5, 30))
    assert fired() == []
    pauses.resume("schedule", "s", actor=ACTOR)
    turn(jobs, at(12, 6))
    assert decided() == [("12:01:00", "paused", 5), ("12:06:00", "fired", 1)]


def test_enabling_runs_nothing_at_once(jobs: HandPlatform) -> None:
    create("daily", cron="0 17 * * *", misfire="skip")
    create("other", cron="0 17 * * *", misfire="run_once")
    jobs.clock.set(at(16, day=5))
    pauses.pause_many(["daily", "other"], actor=ACTOR)
    jobs.clock.set(at(9, day=8))
    pauses.resume_many(["daily", "other"], actor=ACTOR)
    tick()
    assert fired("daily") == fired("other") == []
    turn(jobs, at(18, day=8))
    assert fired("daily") == fired("other") == ["17:00:00"]


def test_with_the_rule_misfire_the_policy_decides_the_slots_of_the_pause(jobs: HandPlatform) -> None:
    create(misfire="run_once")
    pauses.pause("schedule", "s", actor=ACTOR, resume_rule="misfire")
    jobs.clock.set(at(12, 5))
    pauses.resume("schedule", "s", actor=ACTOR)
    tick()
    assert fired() == ["12:05:00"]
    assert decided()[0] == ("12:01:00", "coalesced", 4)


def test_a_pause_ends_at_its_expiry_however_late_it_is_lifted(jobs: HandPlatform) -> None:
    create(misfire="catch_up_limited")
    row = pauses.pause("schedule", "s", actor=ACTOR, expires_at=at(12, 3, 30))
    jobs.clock.set(at(12, 3, 29))
    assert pauses.lift_expired(jobs.clock.now()) == 0
    jobs.clock.set(at(12, 5, 10))
    assert pauses.lift_expired(jobs.clock.now()) == 1
    tick()
    assert decided() == [("12:01:00", "paused", 3), ("12:04:00", "fired", 1), ("12:05:00", "fired", 1)]
    row.refresh_from_db()
    assert (row.lifted_at, row.lifted_by) == (at(12, 3, 30), "expiry")
    assert audited("schedule.resume").actor == "expiry"


def test_a_tenant_is_paused_in_all_its_schedules_and_no_other(jobs: HandPlatform) -> None:
    create("a", tenants=["acme", "umbra"])
    create("b", tenants=["acme"])
    create("host")
    pauses.pause("tenant", "acme", actor=ACTOR)
    turn(jobs, at(12, 2))
    assert fired("a") == fired("host") == ["12:01:00", "12:02:00"]
    assert fired("b") == []
    pauses.resume("tenant", "acme", actor=ACTOR)
    turn(jobs, at(12, 3))
    assert fired("b") == ["12:03:00"]


def test_pausing_everything_is_one_write_however_many_there_are(jobs: HandPlatform) -> None:
    for n in range(3):
        create(f"s{n}")

    def writes() -> int:
        with CaptureQueriesContext(
            connection,
        ) as seen:
            pauses.pause("all", actor=ACTOR)
            pauses.resume("all", actor=ACTOR)
        return sum(not q["sql"].startswith(("SELECT", "SAVEPOINT", "RELEASE", "BEGIN")) for q in seen)

    few = writes()
    for n in range(3, 9):
        create(f"s{n}")
    assert writes() == few
    pauses.pause("all", actor=ACTOR)
    turn(jobs, at(12, 2))
    assert fired("s0") == []
    assert state("s0").next_due_at == at(12, 1)
    pauses.resume("all", actor=ACTOR)
    turn(jobs, at(12, 3))
    assert fired("s0") == ["12:03:00"]


def test_what_two_pauses_stop_goes_on_when_both_are_lifted(jobs: HandPlatform) -> None:
    create(tenants=["acme"])
    pauses.pause("tenant", "acme", actor=ACTOR)
    pauses.pause("schedule", "s", actor=ACTOR)
    found = pauses.open_pause("s", "acme")
    assert found is not None and found.scope == "tenant"
    pauses.resume("schedule", "s", actor=ACTOR)
    assert state("s", "acme").next_due_at is None
    turn(jobs, at(12, 2))
    assert fired() == []
    pauses.resume("tenant", "acme", actor=ACTOR)
    assert pauses.open_pause("s", "acme") is None
    turn(jobs, at(12, 3))
    assert fired() == ["12:03:00"]


def test_pausing_again_changes_the_note_and_keeps_one_pause(jobs: HandPlatform) -> None:
    create()
    pauses.pause("schedule", "s", actor=ACTOR, reason="one")
    pauses.pause("schedule", "s", actor=ACTOR, reason="two\nlines", expires_at=at(13))
    row = Pause.objects.get()
    assert (row.reason, row.expires_at, row.author) == ("two lines", at(13), "anna")
    events = AuditEvent.objects.filter(action="schedule.pause").order_by("id")
    assert [event.before and event.before["reason"] for event in events] == [None, "one"]
    lifted = pauses.resume("schedule", "s", actor=ACTOR)
    assert lifted is not None and lifted.lifted_by == "anna"
    assert pauses.resume("schedule", "s", actor=ACTOR) is None


def test_a_pause_over_an_expired_one_is_a_new_one(jobs: HandPlatform) -> None:
    create()
    pauses.pause("schedule", "s", actor=ACTOR, expires_at=at(12, 1, 30))
    jobs.clock.set(at(12, 3, 30))
    assert pauses.open_pause("s", now=jobs.clock.now()) is None
    pauses.pause("schedule", "s", actor=ACTOR)
    assert [row.lifted_at for row in Pause.objects.order_by("id")] == [at(12, 1, 30), None]
    assert state().next_due_at is None


def test_an_edit_leaves_a_pause_and_decides_its_slots_as_paused(jobs: HandPlatform) -> None:
    create(misfire="run_once")
    pauses.pause("schedule", "s", actor=ACTOR, resume_rule="misfire")
    jobs.clock.set(at(12, 3, 30))
    edit(cron="*/2 * * * *")
    assert state().next_due_at is None
    assert decided() == [("12:01:00", "paused", 3)]
    turn(jobs, at(12, 7))
    assert fired() == []
    pauses.resume("schedule", "s", actor=ACTOR)
    tick()
    assert decided()[1:] == [("12:04:00", "coalesced", 1), ("12:06:00", "fired", 1)]


def test_tenants_that_come_into_a_paused_schedule_are_paused_too(jobs: HandPlatform) -> None:
    create(tenants=["a"])
    pauses.pause("schedule", "s", actor=ACTOR)
    edit(tenants=["a", "b"])
    assert list(ScheduleState.objects.values_list("next_due_at", flat=True)) == [None, None]
    turn(jobs, at(12, 2))
    assert fired() == []


def test_what_cannot_be_paused_is_told(jobs: HandPlatform) -> None:
    create()
    Tenant.objects.create(tenant_id="acme")
    with pytest.raises(ScheduleNotFound, match="'s'"):
        pauses.pause("schedule", "ss", actor=ACTOR)
    with pytest.raises(UnknownName, match="'acme'"):
        pauses.pause("tenant", "acne", actor=ACTOR)
    with pytest.raises(UnknownName, match="'schedule'"):
        pauses.pause("schedules", "s", actor=ACTOR)
    with pytest.raises(UnknownName, match="'misfire'"):
        pauses.pause("schedule", "s", actor=ACTOR, resume_rule="misfir")
    with pytest.raises(InvalidInput, match="takes no target"):
        pauses.pause("all", "s", actor=ACTOR)
    with pytest.raises(InvalidInput, match="which tenant"):
        pauses.pause("tenant", actor=ACTOR)
    with pytest.raises(InvalidInput, match="not in the future"):
        pauses.pause("schedule", "s", actor=ACTOR, expires_at=jobs.clock.now())
    with pytest.raises(InvalidInput, match="aware"):
        pauses.pause("schedule", "s", actor=ACTOR, expires_at=(at(13) + timedelta()).replace(tzinfo=None))
    with pytest.raises(ScheduleNotFound):
        pauses.pause_many(["s", "zz"], actor=ACTOR)
    assert not Pause.objects.exists()
    control.archive("s", actor=ACTOR)
    with pytest.raises(ScheduleArchived):
        pauses.pause("schedule", "s", actor=ACTOR)
