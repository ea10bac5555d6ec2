"""One slot, or one run without a slot: decided once, and told again when asked again."""

from __future__ import annotations

from dataclasses import replace
from datetime import datetime
from typing import Any

import pytest

from jobsplatform.kernel import clock
from jobsplatform.kernel.errors import InvalidInput, ParamsInvalid, TenantForbidden
from jobsplatform.kernel.models import Tenant
from jobsplatform.testing.platform import HandPlatform
from scheduler import steps
from scheduler.errors import ScheduleArchived, ScheduleNotFound, ScheduleTriggerConflict
from scheduler.models import Schedule, ScheduleState, ScheduleTriggerLog
from scheduler.requests import ScheduleTriggerRequest, ScheduleTriggerResult
from scheduler.tickets import job_key
from scheduler.trigger import trigger
from tasks.handlers import FunctionHandler, job
from tasks.models import KEY_LENGTH, Job


def at(text: str) -> datetime:
    return datetime.fromisoformat(f"2026-01-01T{text}+00:00")


@pytest.fixture
def report(jobs: HandPlatform) -> FunctionHandler:
    @job("trigger.report")
    def report(n: int = 0) -> int:
        return n

    jobs.schedule(report, cron="0 * * * *")
    jobs.plan()
    return report


def run(schedule_id: str = "test", **fields: Any) -> ScheduleTriggerResult:
    return trigger(ScheduleTriggerRequest(schedule_id, **fields), clock.now())


def now(key: str = "k1", **fields: Any) -> ScheduleTriggerResult:
    return run(origin=f"manual:{key}", job_origin="manual", **fields)


def test_a_run_now_is_a_job_without_a_slot(jobs: HandPlatform, report: FunctionHandler) -> None:
    result = now(by="mia", params={"n": 5}, user_id="7", force=True)
    made, (row,) = Job.objects.get(), jobs.ledger()
    assert (result.status, result.planned_at, result.task_id) == ("fired", None, str(made.id))
    assert (row.origin, row.planned_at, row.decided_by) == ("manual:k1", None, "mia")
    assert (made.params, made.origin, made.force, made.user_id) == ({"n": 5}, "manual", True, "7")
    assert made.planned_at is None


def test_a_run_now_moves_no_cursor(jobs: HandPlatform, report: FunctionHandler) -> None:
    before = ScheduleState.objects.values().get()
    now()
    assert ScheduleState.objects.values().get() == before


def test_the_same_key_is_the_same_run(jobs: HandPlatform, report: FunctionHandler) -> None:
    first, again = now("k"), now("k")
    assert not first.replayed and again == replace(first, replayed=True)
    assert Job.objects.count() == ScheduleTriggerLog.objects.count() == 1
    assert now("other").task_id != first.task_id


def test_a_slot_that_was_decided_is_told_again(jobs: HandPlatform, report: FunctionHandler) -> None:
    jobs.plan_at(at("13:00"))
    result = run(planned_at=at("13:00"))
    assert result.replayed and result.status == "fired" and result.task_id == str(Job.objects.get().id)


def test_a_slot_inside_a_range_is_told_as_the_range_was(jobs: HandPlatform, report: FunctionHandler) -> None:
    jobs.plan_at(at("16:00"))
    assert ScheduleTriggerLog.objects.get(status="coalesced").slot_count == 3
    result = run(planned_at=at("14:00"))
    assert result.replayed and result.status == "coalesced" and result.task_id == ""
    assert Job.objects.count() == 1


def test_a_slot_triggered_by_name_is_not_planned_again(jobs: HandPlatform, report: FunctionHandler) -> None:
    early = run(planned_at=at("13:00"))
    assert early.status == "fired"
    assert jobs.plan_at(at("13:00:05")) == []
    assert jobs.cursor().next_due_at == at("14:00")
    assert [row.planned_at for row in jobs.ledger()] == [at("13:00")]


def test_no_range_spans_a_slot_triggered_by_name(jobs: HandPlatform, report: FunctionHandler) -> None:
    run(planned_at=at("14:00"))
    jobs.plan_at(at("16:00"))
    rows = [(row.planned_at, row.planned_until, row.status) for row in jobs.ledger()]
    assert rows == [
        (at("13:00"), None, "coalesced"),
        (at("14:00"), None, "fired"),
        (at("15:00"), None, "coalesced"),
        (at("16:00"), None, "fired"),
    ]


def test_an_origin_of_its_own_runs_a_decided_slot_again(jobs: HandPlatform, report: FunctionHandler) -> None:
    jobs.plan_at(at("13:00"))
    again = run(planned_at=at("13:00"), origin="backfill:1", job_origin="backfill")
    assert again.status == "fired" and not again.replayed
    assert run(planned_at=at("13:00"), origin="backfill:1", job_origin="backfill").replayed
    assert sorted(Job.objects.values_list("origin", flat=True)) == ["backfill", "live"]


def test_another_job_type_is_a_conflict(jobs: HandPlatform, report: FunctionHandler) -> None:
    @job("trigger.other")
    def other() -> None:
        return None

    jobs.plan_at(at("13:00"))
    now("k")
    Schedule.objects.update(job_type="trigger.other")
    with pytest.raises(ScheduleTriggerConflict, match="trigger.report"):
        run(planned_at=at("13:00"))
    with pytest.raises(ScheduleTriggerConflict, match="manual:k"):
        now("k")


def test_other_params_under_the_same_key_are_a_conflict(jobs: HandPlatform, report: FunctionHandler) -> None:
    now("k", params={"n": 1})
    assert now("k", params={"n": 1}).replayed
    with pytest.raises(ScheduleTriggerConflict, match="other params"):
        now("k", params={"n": 2})


def test_refused_params_store_nothing(jobs: HandPlatform, report: FunctionHandler) -> None:
    with pytest.raises(ParamsInvalid):
        now(params={"m": 1})
    assert not ScheduleTriggerLog.objects.exists() and not Job.objects.exists()


def test_a_slot_whose_stored_params_do_not_fit_is_decided_as_failed(
    jobs: HandPlatform, report: FunctionHandler
) -> None:
    Schedule.objects.update(params={"m": 1})
    result = run(planned_at=at("13:00"))
    assert (result.ok, result.status, result.reason) == (False, "failed", "PARAMS_INVALID")
    assert "m" in result.error and jobs.ledger()[0].error == result.error


def test_an_exclusive_type_that_runs_says_so(jobs: HandPlatform) -> None:
    @job("trigger.alone", exclusive=True)
    def alone() -> None:
        return None

    jobs.schedule(alone, id="alone", cron="0 * * * *")
    assert run("alone", origin="manual:1", job_origin="manual").status == "fired"
    busy = run("alone", origin="manual:2", job_origin="manual")
    assert (busy.ok, busy.status, busy.reason, busy.task_id) == (True, "skipped", "already_running", "")
    assert run("alone", origin="manual:3", job_origin="manual", force=True).status == "fired"


def test_an_unknown_schedule_names_the_nearest(jobs: HandPlatform, report: FunctionHandler) -> None:
    with pytest.raises(ScheduleNotFound, match="test"):
        run("tset", origin="manual:1")


def test_an_archived_schedule_is_not_run(jobs: HandPlatform, report: FunctionHandler) -> None:
    Schedule.objects.update(archived_at=clock.now())
    with pytest.raises(ScheduleArchived):
        now()


@pytest.mark.parametrize(
    "fields",
    [
        {"planned_at": datetime(2026, 1, 1, 13)},
        {},
        {"origin": "", "planned_at": at("13:00")},
        {"origin": "manual:" + "x" * 300},
        {"origin": "manual:1", "tenant_id": "t"},
    ],
    ids=["naive", "no slot and no key", "no origin", "long key", "tenant of a global schedule"],
)
def test_bad_requests_are_refused(
    jobs: HandPlatform, report: FunctionHandler, fields: dict[str, Any]
) -> None:
    with pytest.raises(InvalidInput):
        run(**fields)
    assert not ScheduleTriggerLog.objects.exists()


def test_it_works_while_the_schedule_is_paused(jobs: HandPlatform, report: FunctionHandler) -> None:
    from jobsplatform.testing.platform import ACTOR
    from scheduler import pauses

    pauses.pause("schedule", "test", actor=ACTOR)
    assert now().status == "fired"
    assert run(planned_at=at("13:00")).status == "fired"


def test_tenants_who_may_not(jobs: HandPlatform, report: FunctionHandler) -> None:
    Tenant.objects.create(tenant_id="s", state="suspended")
    Tenant.objects.create(tenant_id="a", state="archived")
    jobs.schedule(report, id="named", cron="0 * * * *", tenants=["s", "a"])
    slot = run("named", tenant_id="s", planned_at=at("13:00"))
    assert (slot.status, slot.reason) == ("skipped", "tenant suspended")
    held = run("named", tenant_id="s", origin="manual:1")
    assert held.status == "fired" and Job.objects.get(id=held.task_id).hold == "tenant"
    with pytest.raises(TenantForbidden):
        run("named", tenant_id="a", origin="manual:1")
    with pytest.raises(InvalidInput, match="Name one"):
        run("named", origin="manual:1")


@pytest.mark.parametrize("point", ["planned", "before_job", "before_log", "before_commit"])
def test_a_crash_at_any_step_leaves_nothing(
    jobs: HandPlatform, report: FunctionHandler, monkeypatch: pytest.MonkeyPatch, point: str
) -> None:
    def crash(name: str) -> None:
        if name == point:
            raise KeyboardInterrupt

    monkeypatch.setattr(steps, "reached", crash)
    with pytest.raises(KeyboardInterrupt):
        now()
    assert not ScheduleTriggerLog.objects.exists() and not Job.objects.exists()
    monkeypatch.undo()
    assert now().status == "fired"


def test_the_answer_for_programs(jobs: HandPlatform, report: FunctionHandler) -> None:
    result = run(planned_at=at("13:00"), request_id="bridge-1")
    assert result.as_dict() == {
        "ok": True,
        "schedule_id": "test",
        "tenant_id": "",
        "task_id": str(Job.objects.get().id),
        "task_type": "trigger.report",
        "status": "fired",
        "planned_at": "2026-01-01T13:00:00Z",
        "triggered_at": "2026-01-01T12:00:00Z",
        "replayed": False,
        "reason": "",
        "error": "",
    }
    assert result.request_id == Job.objects.get().request_id == "bridge-1"


def test_a_key_that_would_be_too_long_is_cut_to_a_digest() -> None:
    long = job_key("s" * 200, "t" * 100, at("13:00"), "auto")
    assert len(long) == KEY_LENGTH
    assert long != job_key("s" * 200, "t" * 100, at("14:00"), "auto")
