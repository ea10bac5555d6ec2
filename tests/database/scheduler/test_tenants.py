"""For whom a schedule plans: the host, named tenants, every tenant; and what their states mean."""

from __future__ import annotations

from datetime import datetime

import pytest
from django.db import IntegrityError, transaction

from jobsplatform.kernel import clock
from jobsplatform.kernel.models import Tenant
from jobsplatform.testing.platform import HandPlatform
from scheduler import cursors
from scheduler.models import Schedule, ScheduleState, ScheduleTriggerLog
from tasks.handlers import FunctionHandler, job
from tasks.models import Job


def at(text: str) -> datetime:
    return datetime.fromisoformat(f"2026-01-01T{text}+00:00")


@pytest.fixture
def report(jobs: HandPlatform) -> FunctionHandler:
    @job("tenant.report")
    def report(n: int = 0) -> int:
        return n

    for name in ("a", "b"):
        Tenant.objects.create(tenant_id=name)
    return report


def fired() -> list[tuple[str, str]]:
    rows = ScheduleTriggerLog.objects.filter(status="fired").order_by("planned_at", "tenant_id")
    return [(row.tenant_id, row.planned_at.strftime("%H:%M")) for row in rows]


def test_named_tenants_have_a_slot_each(jobs: HandPlatform, report: FunctionHandler) -> None:
    jobs.schedule(report, cron="*/10 * * * *", tenants=["a", "b"])
    jobs.plan()
    jobs.plan_at(at("12:10"))
    assert fired() == [("a", "12:10"), ("b", "12:10")]
    assert sorted(Job.objects.values_list("tenant_id", flat=True)) == ["a", "b"]


def test_every_tenant_and_those_who_come_later(jobs: HandPlatform, report: FunctionHandler) -> None:
    jobs.schedule(report, cron="*/10 * * * *", tenants="*")
    jobs.plan()
    jobs.plan_at(at("12:15"))
    Tenant.objects.create(tenant_id="c")
    assert cursors.ensure_all(clock.now()) == 1
    assert cursors.ensure_all(clock.now()) == 0
    jobs.plan()
    assert fired() == [("a", "12:10"), ("b", "12:10")]  # what lies before its coming is not missed
    jobs.plan_at(at("12:20"))
    assert fired()[2:] == [("a", "12:20"), ("b", "12:20"), ("c", "12:20")]


@pytest.mark.parametrize("state", ["suspended", "archived"])
def test_the_slots_of_a_tenant_who_may_not_are_skipped(
    jobs: HandPlatform, report: FunctionHandler, state: str
) -> None:
    jobs.schedule(report, cron="*/10 * * * *", tenants="*")
    jobs.plan()
    Tenant.objects.filter(tenant_id="a").update(state=state)
    jobs.plan_at(at("12:10"))
    (row,) = jobs.ledger("test", "a")
    assert (row.status, row.reason, row.task_id) == ("skipped", f"tenant {state}", None)
    assert fired() == [("b", "12:10")]
    Tenant.objects.filter(tenant_id="a").update(state="active")
    jobs.plan_at(at("12:20"))
    assert fired()[1:] == [("a", "12:20"), ("b", "12:20")]


def test_an_archived_tenant_gets_no_new_cursor(jobs: HandPlatform, report: FunctionHandler) -> None:
    Tenant.objects.create(tenant_id="gone", state="archived")
    row = jobs.schedule(report, cron="*/10 * * * *", tenants="*")
    assert cursors.ensure_all(clock.now()) == 0
    assert sorted(row.states.values_list("tenant_id", flat=True)) == ["a", "b"]


def test_a_tenant_that_is_no_longer_named_is_planned_no_more(
    jobs: HandPlatform, report: FunctionHandler
) -> None:
    row = jobs.schedule(report, cron="*/10 * * * *", tenants=["a", "b"])
    row.tenants = ["b", "c"]
    row.save()
    assert cursors.ensure(row, clock.now()) == 1
    assert sorted(row.states.values_list("tenant_id", flat=True)) == ["b", "c"]


def test_a_global_schedule_never_doubles(jobs: HandPlatform, report: FunctionHandler) -> None:
    row = jobs.schedule(report, cron="*/10 * * * *")
    assert cursors.ensure(row, clock.now()) == 0
    with pytest.raises(IntegrityError), transaction.atomic():
        ScheduleState.objects.create(schedule=row, tenant_id="", last_planned_at=clock.now())
    for field in (
        ScheduleState._meta.get_field("tenant_id"),
        ScheduleTriggerLog._meta.get_field("tenant_id"),
    ):
        assert not field.null
    jobs.plan()
    jobs.plan_at(at("12:10"))
    assert fired() == [("", "12:10")]


def test_the_fault_of_a_schedule_is_told_once_for_all_its_tenants(
    jobs: HandPlatform, report: FunctionHandler
) -> None:
    from scheduler.events import ScheduleFaulty

    jobs.schedule(report, cron="*/10 * * * *", tenants="*")
    jobs.plan()
    Schedule.objects.update(job_type="tenant.none")
    results = jobs.plan_at(at("12:10"))
    assert [each.status for each in results] == ["parked"]
    assert len(jobs.told(ScheduleFaulty)) == 1
    assert set(ScheduleState.objects.values_list("next_due_at", flat=True)) == {at("12:11")}
