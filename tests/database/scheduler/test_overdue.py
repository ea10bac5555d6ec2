"""Which schedules are late: exactly those, told without any scheduler, and at the same cost however many there are."""

from __future__ import annotations

from collections.abc import Callable
from datetime import datetime, timedelta

import pytest
from django.db import connection
from django.test import Client
from django.test.utils import CaptureQueriesContext

from jobsplatform.kernel import clock, config, processes
from jobsplatform.testing.platform import HandPlatform
from scheduler import control, overdue, pauses
from scheduler.events import SchedulesOverdue
from scheduler.models import Schedule, ScheduleState
from scheduler.states import PauseScope
from tasks.handlers import job
from tests.database.scheduler.tools import ACTOR, at, create, tick, turn


@pytest.fixture(autouse=True)
def work(jobs: HandPlatform, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(overdue, "_distrustful", overdue._Distrustful())
    monkeypatch.setattr(overdue, "_told", frozenset())

    @job("tests.work")
    def work(n: int = 0) -> None: ...


def names(now: datetime | None = None) -> list[str]:
    return [one.name for one in overdue.overdue(now or clock.now())]


def test_without_anybody_firing_exactly_the_due_ones_are_named(jobs: HandPlatform) -> None:
    create("early", cron="30 12 * * *")
    create("later", cron="0 13 * * *")
    create("tomorrow", cron="0 11 * * *")
    create("manual", manual=True)
    assert names() == []
    jobs.clock.set(at(12, 30, 59))
    assert names() == []
    jobs.clock.set(at(12, 31, 1))
    assert names() == ["early"]
    jobs.clock.set(at(13, 1, 1))
    assert names() == ["early", "later"]
    (first, _) = overdue.overdue(clock.now())
    assert (first.since, first.seconds) == (at(12, 30), 1861.0)
    tick()
    assert names() == []


def paused(jobs: HandPlatform) -> None:
    pauses.pause(PauseScope.SCHEDULE, "s", actor=ACTOR)


def everything(jobs: HandPlatform) -> None:
    pauses.pause(PauseScope.ALL, actor=ACTOR)


def archived(jobs: HandPlatform) -> None:
    control.archive("s", actor=ACTOR)


def over(jobs: HandPlatform) -> None:
    ScheduleState.objects.update(next_due_at=None)
    Schedule.objects.update(
        trigger_config={**Schedule.objects.get().trigger_config, "end": "2026-01-01T12:10:00Z"}
    )


def faulty(jobs: HandPlatform) -> None:
    Schedule.objects.update(fault="Unknown zone 'Mars'.", fault_at=clock.now())


@pytest.mark.parametrize("resting", [paused, everything, archived, over, faulty])
def test_what_rests_is_not_late(jobs: HandPlatform, resting: Callable[[HandPlatform], None]) -> None:
    create(cron="30 12 * * *")
    resting(jobs)
    jobs.clock.set(at(14))
    assert names() == []


def test_what_is_faulty_is_named_apart(jobs: HandPlatform) -> None:
    create("s", cron="30 12 * * *")
    create("late", cron="30 12 * * *")
    Schedule.objects.filter(id="s").update(fault="Unknown zone 'Mars'.", fault_at=at(12))
    jobs.clock.set(at(14))
    found = overdue.report(clock.now())
    assert [one.name for one in found.overdue] == ["late"]
    assert found.faulty == [overdue.Faulty("s", "Unknown zone 'Mars'.", at(12))]
    assert (found.overdue_count, found.faulty_count) == (1, 1)


def test_after_a_pause_of_everything_nothing_is_late_at_once(jobs: HandPlatform) -> None:
    create(cron="30 12 * * *")
    pauses.pause(PauseScope.ALL, actor=ACTOR)
    jobs.clock.set(at(14))
    pauses.resume(PauseScope.ALL, actor=ACTOR)
    assert names() == []
    jobs.clock.set(at(14, 1, 1))
    assert names() == ["s"]


def lost(state: ScheduleState) -> None:
    state.next_due_at = None


def far_away(state: ScheduleState) -> None:
    state.next_due_at = at(12, day=9)


@pytest.mark.parametrize("wrong", [lost, far_away])
def test_a_wrong_next_due_is_seen_through(jobs: HandPlatform, wrong: Callable[[ScheduleState], None]) -> None:
    create(cron="30 12 * * *")
    create("sound", cron="0 10 * * *")
    state = ScheduleState.objects.get(schedule_id="s")
    wrong(state)
    state.save()
    jobs.clock.set(at(12, 31, 1))
    (found,) = overdue.overdue(clock.now())
    assert found.name == "s" and "next_due_at passes it by" in found.reason


def test_a_schedule_that_nobody_plans_is_seen(jobs: HandPlatform) -> None:
    create(cron="30 12 * * *")
    ScheduleState.objects.all().delete()
    jobs.clock.set(at(12, 2))
    (found,) = overdue.overdue(clock.now())
    assert found.name == "s" and "no cursor" in found.reason


def test_the_distrustful_look_goes_round_all_and_keeps_what_it_found(
    jobs: HandPlatform, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(overdue, "SCHEDULES_A_LOOK", 2)
    for n in range(7):
        create(f"s{n}", cron="30 12 * * *")
    jobs.clock.set(at(12, 31, 1))
    tick()
    ScheduleState.objects.filter(schedule_id="s5").update(last_planned_at=at(12), next_due_at=None)
    seen = [names() for _ in range(9)]
    assert seen[0] == [] and seen[2] == ["s5"]
    assert all(found == ["s5"] for found in seen[2:])  # also while it looks elsewhere
    ScheduleState.objects.filter(schedule_id="s5").update(last_planned_at=at(13), next_due_at=at(13))
    assert names() == []


def test_it_costs_as_many_queries_for_many_as_for_few(jobs: HandPlatform) -> None:
    create("first", cron="30 12 * * *")
    jobs.clock.set(at(14))
    with CaptureQueriesContext(connection) as few:
        overdue.report(clock.now())
    for n in range(40):
        create(f"s{n}", cron="30 12 * * *")
    jobs.clock.set(at(14, day=2))
    with CaptureQueriesContext(connection) as many:
        found = overdue.report(clock.now())
    assert found.overdue_count == 41
    assert len(many) == len(few) <= 10


def test_a_change_is_told_once(jobs: HandPlatform) -> None:
    create(cron="30 12 * * *", misfire="run_once")
    jobs.clock.set(at(12, 31, 1))
    for _ in range(3):
        overdue.watch(clock.now())
    turn(jobs, at(12, 32))
    for _ in range(3):
        overdue.watch(clock.now())
    told = jobs.told(SchedulesOverdue)
    assert [(event.named, event.count) for event in told] == [(("s",), 1), ((), 0)]


# -- the health page ---------------------------------------------------------------------------------


def ready(**headers: str) -> tuple[int, dict[str, object]]:
    answer = Client().get("/health/ready", headers=headers)
    return answer.status_code, answer.json()["schedules"]


def test_the_health_page_names_the_late_and_the_faulty(jobs: HandPlatform) -> None:
    create("nightly", cron="30 12 * * *")
    create("broken", cron="30 12 * * *")
    processes.register("worker", name="w", now=clock.now())
    assert ready() == (200, {"ok": True, "status": "on time"})
    Schedule.objects.filter(id="broken").update(fault="Unknown zone.", fault_at=clock.now())
    assert ready() == (200, {"ok": True, "status": "on time; 1 faulty", "faulty": ["broken"]})
    jobs.clock.set(at(12, 31, 1))
    processes.register("worker", name="w2", now=clock.now())
    status, told = ready()
    assert status == 503
    assert told == {
        "ok": False,
        "status": "1 overdue: is a scheduler alive?; 1 faulty",
        "overdue": ["nightly"],
        "faulty": ["broken"],
    }


def test_where_a_token_guards_the_names_they_need_it(jobs: HandPlatform) -> None:
    create("nightly", cron="30 12 * * *")
    jobs.clock.set(at(12, 31) + timedelta(seconds=1))
    token = "t" * 40
    with config.override(health_token=token):
        assert "overdue" not in ready()[1]
        assert ready(Authorization=f"Bearer {token}")[1]["overdue"] == ["nightly"]
