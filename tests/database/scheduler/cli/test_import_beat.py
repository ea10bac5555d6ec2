"""`schedules import --django-celery-beat`."""

from datetime import UTC, datetime, timedelta
from typing import Any
from zoneinfo import ZoneInfo

import pytest
from django_celery_beat.models import (
    ClockedSchedule,
    CrontabSchedule,
    IntervalSchedule,
    PeriodicTask,
    SolarSchedule,
)

from jobsplatform.testing.platform import HandPlatform
from scheduler import pauses
from scheduler.models import Schedule
from tests.database.cli.ran import Ran, ran

pytestmark = pytest.mark.usefixtures("work")
DAY = timedelta(days=1)
NOON = datetime(2026, 1, 1, 12, tzinfo=UTC)


def cron(text: str, zone: str = "UTC") -> CrontabSchedule:
    minute, hour, day_of_month, month, weekday = text.split()
    return CrontabSchedule.objects.create(
        minute=minute,
        hour=hour,
        day_of_month=day_of_month,
        month_of_year=month,
        day_of_week=weekday,
        timezone=ZoneInfo(zone),
    )


def every(count: int, period: str) -> IntervalSchedule:
    return IntervalSchedule.objects.create(every=count, period=period)


def task(name: str = "row", **fields: Any) -> PeriodicTask:
    if not {"crontab", "interval", "solar", "clocked"} & fields.keys():
        fields["crontab"] = cron("0 9 * * *")
    return PeriodicTask.objects.create(**{"name": name, "task": "tests.work", **fields})


def imported(*argv: str) -> Ran:
    return ran("schedules", "import", "--django-celery-beat", *argv)


def reason() -> str:
    (row,) = imported("--json").json["refused"]
    assert not Schedule.objects.exists()
    return str(row["reason"])


def test_a_crontab_with_its_zone_and_params(jobs: HandPlatform) -> None:
    task(
        "Überprüfung",
        crontab=cron("30 2 * * mon-fri", "Europe/Berlin"),
        kwargs='{"hours": 3}',
        description="d",
    )
    assert imported().code == 0
    row = Schedule.objects.get()
    assert (row.id, row.job_type, row.params, row.description) == (
        "Überprüfung",
        "tests.work",
        {"hours": 3},
        "d",
    )
    assert (row.trigger_config, row.timezone) == ({"cron": "30 2 * * 1-5"}, "Europe/Berlin")
    assert row.misfire == "run_once"


def test_an_interval_goes_on_from_its_last_run(jobs: HandPlatform) -> None:
    task(interval=every(7, "minutes"), last_run_at=NOON - timedelta(minutes=2))
    imported()
    config = Schedule.objects.get().trigger_config
    assert (config["every"], config["anchor"]) == (420, "2026-01-01T11:58:00Z")
    PeriodicTask.objects.update(last_run_at=NOON)
    assert imported("--json").json["counts"]["unchanged"] == 1


def test_a_date(jobs: HandPlatform) -> None:
    task(clocked=ClockedSchedule.objects.create(clocked_time=NOON + DAY), one_off=True)
    imported()
    row = Schedule.objects.get()
    assert (row.trigger_type, row.trigger_config) == ("date", {"at": "2026-01-02T12:00:00Z"})


def test_positional_arguments_take_the_names_of_the_params(jobs: HandPlatform) -> None:
    task(args="[5]", kwargs='{"note": "n"}')
    imported()
    assert Schedule.objects.get().params == {"hours": 5, "note": "n"}


def test_a_row_that_is_off_is_a_paused_schedule(jobs: HandPlatform) -> None:
    task(enabled=False)
    assert imported("--json").json["schedules"][0]["paused"] is True
    assert pauses.open_pause("row") is not None


def test_bounds_queue_and_lifetime(jobs: HandPlatform) -> None:
    task("a", start_time=NOON - DAY, expires=NOON + DAY, queue="reports", one_off=True)
    task("b", expire_seconds=600)
    assert imported().code == 0
    first, second = Schedule.objects.order_by("id")
    assert first.trigger_config == {
        "cron": "0 9 * * *",
        "start": "2025-12-31T12:00:00Z",
        "end": "2026-01-02T12:00:00Z",
        "max_runs": 1,
    }
    assert first.queue == "reports"
    assert second.latest_start_seconds == 600


def test_days_that_both_must_fit_are_never_widened(jobs: HandPlatform) -> None:
    task(crontab=cron("0 0 13 * 5"))
    assert "AND" in reason()
    PeriodicTask.objects.all().delete()
    task(crontab=cron("0 9 1-7 * 1"))
    assert imported().code == 0
    assert Schedule.objects.get().trigger_config == {"cron": "0 9 * * 1#1"}


@pytest.mark.parametrize(
    ("fields", "words"),
    [
        ({"task": "proj.tasks.thing"}, "--map 'proj.tasks.thing=TYPE'"),
        ({"task": "tests.wrok"}, "Did you mean 'tests.work'?"),
        ({"kwargs": '{"huors": 1}'}, "hours"),
        ({"kwargs": '{"hours": "x"}'}, "hours"),
        ({"kwargs": "{nope"}, "no JSON"),
        ({"args": "{}"}, "expected a JSON list"),
        ({"args": "[1, 2, 3]"}, "3 args"),
        ({"args": "[1]", "kwargs": '{"hours": 2}'}, "given twice"),
        ({"expires": NOON - DAY}, "expired"),
        ({"one_off": True, "enabled": False, "total_run_count": 1}, "has run"),
    ],
)
def test_what_cannot_be_is_told_and_not_stored(
    jobs: HandPlatform, fields: dict[str, Any], words: str
) -> None:
    task(**fields)
    assert words in reason()


def test_schedules_that_we_have_no_word_for(jobs: HandPlatform) -> None:
    task("solar", solar=SolarSchedule.objects.create(event="sunrise", latitude=52, longitude=13))
    task("micro", interval=every(5, "microseconds"))
    task("past", clocked=ClockedSchedule.objects.create(clocked_time=NOON - DAY), one_off=True)
    task("fine")
    answer = imported("--json")
    assert answer.code == 2
    reasons = [row["reason"] for row in answer.json["refused"]]
    assert [
        words in reason for words, reason in zip(("Solar", "whole seconds", "passed"), reasons, strict=True)
    ]
    assert [row.id for row in Schedule.objects.all()] == ["fine"]


def test_our_own_exported_rows_are_not_read_back(jobs: HandPlatform) -> None:
    task(task="core.scheduler.trigger")
    assert imported("--json").json["counts"] == {
        "created": 0,
        "unchanged": 0,
        "updated": 0,
        "differs": 0,
        "refused": 0,
    }


def test_a_task_can_be_mapped(jobs: HandPlatform) -> None:
    task(task="proj.tasks.report")
    assert imported("--map", "proj.tasks.*=tests.work").code == 0
    assert Schedule.objects.get().job_type == "tests.work"


def test_a_dry_run_stores_nothing_and_again_makes_no_second_one(jobs: HandPlatform) -> None:
    task()
    assert imported("--dry-run", "--json").json["counts"]["created"] == 1
    assert not Schedule.objects.exists()
    assert imported("--json").json["counts"]["created"] == 1
    assert imported("--json").json["counts"]["unchanged"] == 1
    assert Schedule.objects.count() == 1


def test_names_that_differ_only_in_how_they_are_written(jobs: HandPlatform) -> None:
    task("Pru\u0308fung")
    task("Pr\u00fcfung")
    told = imported("--json").json
    assert "is that of row" in told["refused"][0]["reason"]
    assert [row.id for row in Schedule.objects.all()] == ["Pr\u00fcfung"]
    assert imported("--json").json["counts"] == {**told["counts"], "created": 0, "unchanged": 1}


def test_rows_that_go_on_are_told_and_taken_over_on_demand(jobs: HandPlatform) -> None:
    task("a")
    task("b", task="proj.unknown")
    assert "still switched on" in imported().err
    assert imported("--take-over", "--dry-run", "--json").json["rows_switched_off"] == 0
    told = imported("--take-over", "--json").json
    assert (told["rows_switched_off"], told["rows_still_on"]) == (1, 0)
    assert dict(PeriodicTask.objects.values_list("name", "enabled")) == {"a": False, "b": True}
    assert pauses.open_pause("a") is None
