"""Providers: by hand, under a lock, on record; and the three that tick, in threads of this process."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

import pytest

from jobsplatform.celery import app  # noqa: F401  (the app that an embedded beat runs)
from jobsplatform.kernel import clock, config
from jobsplatform.kernel.audit import Actor
from jobsplatform.kernel.bell import Bell
from jobsplatform.kernel.errors import InvalidInput
from jobsplatform.kernel.locks import MemoryLocks
from jobsplatform.kernel.loop import wait_until
from jobsplatform.kernel.models import AuditEvent, Process
from jobsplatform.testing.platform import HandPlatform
from scheduler import control
from scheduler.errors import ScheduleNotFound
from scheduler.models import Schedule, ScheduleTriggerLog
from scheduler.providers import (
    AuditedScheduleProvider,
    LockedScheduleProvider,
    ManualScheduleProvider,
    RunReport,
    apscheduler,
    get_provider,
)
from scheduler.providers.locked import lock_key
from scheduler.requests import ScheduleTriggerRequest
from scheduler.spec import ScheduleSpec
from tasks.handlers import FunctionHandler, job
from tests.database.scheduler.test_turns import AwayLocks


@pytest.fixture
def report(jobs: HandPlatform) -> FunctionHandler:
    @job("provider.report")
    def report() -> None:
        return None

    return report


@pytest.fixture
def slot(jobs: HandPlatform, report: FunctionHandler) -> ScheduleTriggerRequest:
    """A slot that is due, and not decided yet."""
    jobs.schedule(report, cron="0 13 * * *")
    jobs.plan()
    jobs.advance(3601)
    return ScheduleTriggerRequest("test", planned_at=clock.now().replace(second=0))


def triggered() -> list[AuditEvent]:
    return list(AuditEvent.objects.filter(action="scheduler.triggered"))


def test_by_hand_a_slot_is_decided_once(slot: ScheduleTriggerRequest) -> None:
    first, again = (ManualScheduleProvider().trigger(slot) for _ in range(2))
    assert (first.ok, first.status, first.replayed) == (True, "fired", False)
    assert (again.ok, again.task_id, again.replayed) == (True, first.task_id, True)


def test_by_hand_rounds_are_counted(jobs: HandPlatform, slot: ScheduleTriggerRequest) -> None:
    report = ManualScheduleProvider().run(bell=Bell(), max_iterations=3, instance_id="me")
    told = report.as_dict()
    assert list(told) == [
        "ok",
        "tenant_id",
        "iterations",
        "checked",
        "triggered",
        "failed",
        "instance_id",
        "schedule_results",
    ]
    assert (told["ok"], told["iterations"], told["triggered"], told["instance_id"]) == (True, 3, 1, "me")
    (result,) = told["schedule_results"]
    assert result["schedule_id"] == "test"


def test_a_held_lock_keeps_quiet(slot: ScheduleTriggerRequest, jobs: HandPlatform) -> None:
    locks = MemoryLocks()
    locks.acquire(lock_key(slot), 30)
    result = LockedScheduleProvider(ManualScheduleProvider(), locks).trigger(slot)
    assert (result.ok, result.reason, result.task_id) == (False, "held elsewhere", "")
    assert jobs.ledger() == []


def test_the_lock_and_its_fence_are_on_record(slot: ScheduleTriggerRequest, jobs: HandPlatform) -> None:
    locks = MemoryLocks()
    LockedScheduleProvider(ManualScheduleProvider(), locks).trigger(slot)
    (row,) = jobs.ledger()
    assert row.lock_key == "scheduler:trigger:test::2026-01-01T13:00:00Z"
    assert row.fencing_token == 1
    assert locks.acquire(row.lock_key, 30) is not None, "it was given back"


def test_without_a_store_of_locks_the_database_proves_it(
    slot: ScheduleTriggerRequest, jobs: HandPlatform, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("scheduler.providers.locked.UNKNOWN_SECONDS", (0, 0.001))
    locks = AwayLocks()
    locks.away = True
    provider = LockedScheduleProvider(ManualScheduleProvider(), locks)
    assert [provider.trigger(slot).replayed, provider.trigger(slot).replayed] == [False, True]
    assert len(jobs.ledger()) == 1


def test_what_fires_by_itself_has_no_second_record(slot: ScheduleTriggerRequest) -> None:
    AuditedScheduleProvider(ManualScheduleProvider()).trigger(slot)
    assert triggered() == []


def test_what_somebody_triggers_is_on_record(slot: ScheduleTriggerRequest) -> None:
    provider = get_provider("local", Actor("anna", "cli"))
    result = provider.trigger(slot)
    (event,) = triggered()
    assert (event.actor, event.actor_kind, event.target_id, event.outcome) == ("anna", "cli", "test", "ok")
    assert event.after["task_id"] == result.task_id
    assert event.after["planned_at"] == "2026-01-01T13:00:00Z"
    assert event.after["lock_key"].startswith("scheduler:trigger:test:")
    assert event.after["fencing_token"] > 0


def test_a_failure_is_on_record_and_told(jobs: HandPlatform) -> None:
    request = ScheduleTriggerRequest("nobody", planned_at=clock.now())
    with pytest.raises(ScheduleNotFound):
        AuditedScheduleProvider(ManualScheduleProvider()).trigger(request)
    (event,) = triggered()
    assert (event.outcome, event.target_id) == ("error", "nobody")
    assert "nobody" in event.error


def test_an_unknown_provider_names_the_known_ones() -> None:
    with pytest.raises(InvalidInput, match="Did you mean 'celery_beat'"):
        get_provider("celery-beat")


def test_the_setting_says_who_ticks() -> None:
    with config.override(scheduler={"provider": "celery_beat"}):
        assert get_provider().name == "celery_beat"
    assert get_provider().name == "local"


def test_without_apscheduler_the_reason_is_told(monkeypatch: pytest.MonkeyPatch) -> None:
    def missing(name: str) -> Any:
        raise ImportError(name)

    monkeypatch.setattr(apscheduler, "import_module", missing)
    with pytest.raises(InvalidInput, match="pip install"):
        get_provider("apscheduler")


# -- those that tick ---------------------------------------------------------------------------------


@contextmanager
def running(provider: Any, **options: Any) -> Iterator[Callable[[], RunReport]]:
    """Runs it in a thread; the yielded function rings its bell and gives its report."""
    bell, reports = Bell(), []
    thread = threading.Thread(target=lambda: reports.append(provider.run(bell=bell, **options)), daemon=True)
    thread.start()

    def end() -> RunReport:
        bell.ring()
        thread.join(10)
        assert not thread.is_alive()
        return reports[0]

    try:
        yield end
    finally:
        bell.ring()
        thread.join(10)


def every_second(name: str = "each") -> Schedule:
    spec = ScheduleSpec(id=name, job="maintenance.report", every=1, misfire="run_once", overlap="allow")
    return control.create(spec, actor=Actor.system("test"))


def fired() -> int:
    return ScheduleTriggerLog.objects.filter(schedule_id="each", status="fired").count()


@pytest.mark.parametrize("name", ["local", "celery_beat", "apscheduler"])
def test_each_fires_slots_and_ends_at_the_bell(transactional_db: None, name: str) -> None:
    every_second()
    with running(get_provider(name), instance_id="i1") as end:
        wait_until(lambda: fired() >= 2, 20)
        report = end()
    assert report.ok
    assert report.instance_id
    rows = ScheduleTriggerLog.objects.filter(schedule_id="each")
    assert rows.count() == rows.values("planned_at").distinct().count()
    role = "beat" if name == "celery_beat" else "scheduler"
    process = Process.objects.filter(role=role).latest("started_at")
    wait_until(lambda: Process.objects.get(pk=process.pk).stopped_at, 5)


@pytest.mark.parametrize("name", ["local", "celery_beat", "apscheduler"])
def test_rounds_by_number_end_by_themselves(transactional_db: None, name: str) -> None:
    every_second()
    report = get_provider(name).run(bell=Bell(), max_iterations=2, instance_id="i1")
    assert (report.iterations, report.instance_id) == (2, "i1")


def test_code_schedules_are_stored_at_the_start(transactional_db: None) -> None:
    get_provider("local").run(bell=Bell(), max_iterations=1)
    assert Schedule.objects.filter(source="code", pk="maintenance.purge-jobs").exists()


def test_an_edit_wakes_the_loop(transactional_db: None) -> None:
    with config.override(scheduler={"idle_sleep_seconds": 60, "lock_ttl_seconds": 200}):
        rounds: list[Any] = []
        with running(get_provider("local"), on_round=rounds.append):
            wait_until(lambda: len(rounds) >= 2, 10)
            every_second()
            wait_until(lambda: fired() >= 1, 10)
