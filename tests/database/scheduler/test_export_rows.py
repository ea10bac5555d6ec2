"""Rows for django-celery-beat: written once, kept in step, and never others'."""

from __future__ import annotations

import json
from datetime import UTC, datetime, timedelta

import pytest
from django.core.management import CommandError, call_command
from django_celery_beat import schedulers
from django_celery_beat.models import CrontabSchedule, PeriodicTask

from jobsplatform.celery import app
from jobsplatform.kernel import clock
from jobsplatform.kernel.audit import Actor
from jobsplatform.testing.platform import HandPlatform
from scheduler import control, export, pauses
from scheduler.export_rows import Follower, export_rows, ours
from scheduler.models import Schedule
from tasks.handlers import FunctionHandler, job

ACTOR = Actor.system("test")


@pytest.fixture
def report(jobs: HandPlatform) -> FunctionHandler:
    @job("export.report")
    def report() -> None:
        return None

    return report


def names() -> list[str]:
    return sorted(ours().values_list("name", flat=True))


def test_disabled_and_deleted_leave_and_a_third_export_changes_nothing(
    jobs: HandPlatform, report: FunctionHandler
) -> None:
    for name in ("stays", "paused", "deleted"):
        jobs.schedule(report, id=name, cron="0 9 * * *")
    assert len(export_rows(clock.now()).created) == 3
    ours().update(total_run_count=7, last_run_at=clock.now())
    pauses.pause("schedule", "paused", actor=ACTOR, reason="test")
    control.archive("deleted", actor=ACTOR)
    second = export_rows(clock.now())
    assert (second.created, second.updated, second.unchanged) == ([], [], 1)
    assert second.removed == ["jobsplatform: deleted", "jobsplatform: paused"]
    third = export_rows(clock.now())
    assert (third.created, third.updated, third.removed, third.unchanged) == ([], [], [], 1)
    (row,) = ours()
    assert (row.name, row.total_run_count, row.last_run_at) == ("jobsplatform: stays", 7, clock.now())
    assert sorted(export.entries()) == ["jobsplatform: stays"]


def test_resumed_ones_come_back(jobs: HandPlatform, report: FunctionHandler) -> None:
    jobs.schedule(report, id="it", cron="0 9 * * *")
    pauses.pause("schedule", "it", actor=ACTOR)
    assert export_rows(clock.now()).created == []
    pauses.resume("schedule", "it", actor=ACTOR)
    assert export_rows(clock.now()).created == ["jobsplatform: it"]


def test_an_edit_moves_the_row_and_others_rows_are_let_be(
    jobs: HandPlatform, report: FunctionHandler
) -> None:
    jobs.schedule(report, id="it", cron="0 9 * * *")
    crontab = CrontabSchedule.objects.create(minute="5")
    PeriodicTask.objects.create(name="theirs", task="some.task", crontab=crontab)
    PeriodicTask.objects.create(name="by hand", task="core.scheduler.trigger", crontab=crontab)
    export_rows(clock.now())
    Schedule.objects.filter(pk="it").update(trigger_config={"cron": "30 10 * * *"})
    assert export_rows(clock.now()).updated == ["jobsplatform: it"]
    row = ours().get()
    assert (row.crontab.minute, row.crontab.hour, str(row.crontab.timezone)) == ("30", "10-10", "UTC")
    assert names() == ["jobsplatform: it"]
    assert set(PeriodicTask.objects.values_list("name", flat=True)) == {
        "theirs",
        "by hand",
        "jobsplatform: it",
    }


@pytest.mark.parametrize("schedule_id", ["ночной отчёт ☂ 🌧", "x" * 200, 'quo"te', "100%"])
def test_names_may_be_any_text(jobs: HandPlatform, report: FunctionHandler, schedule_id: str) -> None:
    jobs.schedule(report, id=schedule_id, cron="0 9 * * *")
    export_rows(clock.now())
    row = ours().get()
    assert json.loads(row.kwargs) == {
        "schedule_id": schedule_id,
        "tenant_id": "",
        "request_id_prefix": "beat-",
    }
    (entry,) = export.entries().values()
    assert (entry["task"], entry["kwargs"]["schedule_id"]) == ("core.scheduler.trigger", schedule_id)


def test_what_cannot_be_built_is_left_out_alone(jobs: HandPlatform, report: FunctionHandler) -> None:
    jobs.schedule(report, id="sound", cron="0 9 * * *")
    jobs.schedule(report, id="broken", cron="0 9 * * *")
    Schedule.objects.filter(pk="broken").update(timezone="Mars/Olympus")
    assert export_rows(clock.now()).created == ["jobsplatform: sound"]
    assert list(export.entries()) == ["jobsplatform: sound"]


def test_manual_ones_need_no_hint(jobs: HandPlatform, report: FunctionHandler) -> None:
    jobs.schedule(report, id="by hand")
    assert export_rows(clock.now()).created == []
    assert export.entries() == {}


def test_a_second_export_reads_and_writes_nothing(
    jobs: HandPlatform, report: FunctionHandler, django_assert_max_num_queries: object
) -> None:
    for n in range(30):
        jobs.schedule(report, id=f"s{n}", cron="0 9 * * *")
    export_rows(clock.now())
    with django_assert_max_num_queries(6):  # type: ignore[operator]
        export_rows(clock.now())


@pytest.mark.parametrize("zone", ["UTC", "Europe/Berlin", "Australia/Sydney", "America/New_York"])
def test_their_scheduler_loads_a_row_at_any_hour_of_the_day(
    jobs: HandPlatform, report: FunctionHandler, zone: str, monkeypatch: pytest.MonkeyPatch, settings: object
) -> None:
    """A row with a lone number in its hour field is left out by the server's hour, by a wrong offset in summer."""
    jobs.schedule(report, id="nine", cron="0 9 * * *", timezone="America/New_York")
    jobs.schedule(report, id="gap", cron="30 2 * * *", timezone="Europe/Berlin")
    export_rows(clock.now())
    settings.TIME_ZONE = zone  # type: ignore[attr-defined]
    theirs = schedulers.DatabaseScheduler(app, lazy=True)
    for hour in range(24):
        at = datetime(2026, 7, 1, tzinfo=UTC) + timedelta(hours=hour)
        monkeypatch.setattr(schedulers, "aware_now", lambda at=at: at)
        monkeypatch.setattr(schedulers, "now", lambda at=at: at)
        assert set(theirs.all_as_schedule()) == {"jobsplatform: nine", "jobsplatform: gap"}, hour


def test_rows_follow_once_they_are_there(jobs: HandPlatform, report: FunctionHandler) -> None:
    jobs.schedule(report, id="one", cron="0 9 * * *")
    follower = Follower()
    follower.follow(clock.now())
    assert names() == [], "nobody has asked for rows"
    export_rows(clock.now())
    follower.follow(clock.now())
    jobs.schedule(report, id="two", cron="0 9 * * *")
    follower.follow(clock.now())
    assert names() == ["jobsplatform: one", "jobsplatform: two"]
    pauses.pause("schedule", "one", actor=ACTOR)
    follower.follow(clock.now())
    assert names() == ["jobsplatform: two"]


def test_the_command_exports(
    jobs: HandPlatform, report: FunctionHandler, capsys: pytest.CaptureFixture[str]
) -> None:
    jobs.schedule(report, id="one", cron="0 9 * * *")
    call_command("schedules", "export", "--django-celery-beat", "--json")
    told = json.loads(capsys.readouterr().out)
    assert told == {"created": ["jobsplatform: one"], "updated": [], "removed": [], "unchanged": 0}
    with pytest.raises(CommandError, match="Say where to"):
        call_command("schedules", "export")
