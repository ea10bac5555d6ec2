"""What ``doctor`` says of schedules."""

from __future__ import annotations

from datetime import timedelta

import pytest

from jobsplatform.kernel import clock, processes
from jobsplatform.testing.platform import HandPlatform
from scheduler.doctor import check_schedules
from scheduler.models import Schedule
from tasks.doctor.finding import Level
from tasks.handlers import FunctionHandler, job


@pytest.fixture
def report(jobs: HandPlatform) -> FunctionHandler:
    @job("doctor.report")
    def report() -> None:
        return None

    return report


def test_without_schedules_nobody_is_missed(jobs: HandPlatform) -> None:
    (found,) = check_schedules(clock.now())
    assert found.level is Level.OK


def test_without_a_scheduler_workers_sweep(jobs: HandPlatform, report: FunctionHandler) -> None:
    jobs.schedule(report, cron="0 13 * * *")
    (found,) = check_schedules(clock.now())
    assert (found.level, "5 s late" in found.text) == (Level.WARNING, True)


def test_a_live_beat_is_enough(jobs: HandPlatform, report: FunctionHandler) -> None:
    jobs.schedule(report, cron="0 13 * * *")
    processes.register("beat", name="b", now=clock.now())
    (found,) = check_schedules(clock.now())
    assert (found.level, found.facts["schedulers"]) == (Level.OK, 1)


def test_slots_that_nobody_decides_are_a_fault(jobs: HandPlatform, report: FunctionHandler) -> None:
    jobs.schedule(report, id="late", cron="0 13 * * *")
    jobs.plan()
    found = list(check_schedules(clock.now() + timedelta(hours=2)))
    assert [one.level for one in found] == [Level.WARNING, Level.FAULT]
    assert "late" in found[1].text


def test_a_schedule_that_cannot_be_planned_is_a_fault(jobs: HandPlatform, report: FunctionHandler) -> None:
    jobs.schedule(report, id="broken", cron="0 13 * * *")
    Schedule.objects.update(fault="no such zone", fault_at=clock.now())
    assert any("broken" in one.text and one.level is Level.FAULT for one in check_schedules(clock.now()))
