"""`schedules list`, `show`, `next` and `why`."""

import pytest

from jobsplatform.testing.platform import HandPlatform
from scheduler import pauses
from scheduler.models import Schedule
from tests.database.cli.ran import ran
from tests.database.scheduler.tools import ACTOR, at, create, turn

pytestmark = pytest.mark.usefixtures("work")


def test_the_list_says_where_each_stands(jobs: HandPlatform) -> None:
    create("hourly", cron="0 * * * *", description="Each hour", timezone="Europe/Berlin")
    create("paused")
    pauses.pause("schedule", "paused", actor=ACTOR)
    create("once", at="2026-01-01T12:30:00Z")
    create("faulty")
    Schedule.objects.filter(id="faulty").update(timezone="Asia/Nowhere")
    turn(jobs, at(13, 1))
    rows = {row["id"]: row for row in ran("schedules", "list", "--json").json["schedules"]}
    assert {name: row["status"] for name, row in rows.items()} == {
        "hourly": "active",
        "paused": "paused",
        "once": "finished",
        "faulty": "faulty",
    }
    assert rows["hourly"]["next_slot_at"] == "2026-01-01T14:00:00Z"
    assert rows["hourly"]["last_decision"]["status"] == "fired"
    assert rows["hourly"]["last_decision"]["outcome"] == "waiting"
    shown = {line.split()[0]: line for line in ran("schedules", "list").out.splitlines()}
    assert "0 * * * * Europe/Berlin" in shown["hourly"]
    assert "in 59m" in shown["hourly"]
    assert "fired waiting" in shown["hourly"]


def test_the_list_is_paged_and_filtered(jobs: HandPlatform) -> None:
    for name in ("a", "b", "c"):
        create(name)
    create("d", every=60)
    first = ran("schedules", "list", "--limit", "2", "--json").json
    assert [row["id"] for row in first["schedules"]] == ["a", "b"]
    rest = ran("schedules", "list", "--after", first["next"], "--json").json
    assert ([row["id"] for row in rest["schedules"]], rest["next"]) == (["c", "d"], None)
    for argv, ids in (
        (["--search", "D"], ["d"]),
        (["--trigger", "interval"], ["d"]),
        (["--type", "tests.work"], ["a", "b", "c", "d"]),
        (["--faulty"], []),
        (["--archived"], []),
        (["--source", "code"], []),
    ):
        assert [row["id"] for row in ran("schedules", "list", *argv, "--json").json["schedules"]] == ids
    ran("schedules", "archive", "a")
    assert [row["id"] for row in ran("schedules", "list", "--archived", "--json").json["schedules"]] == ["a"]
    assert ran("schedules", "list", "--faulty").err == "No schedules.\n"


def test_one_schedule_is_shown_with_its_rule_slots_and_decisions(jobs: HandPlatform) -> None:
    create("nightly", cron="30 2 * * *", timezone="Europe/Berlin", params={"hours": 3}, overlap="skip")
    turn(jobs, at(1, 30, 1, day=2))
    pauses.pause("all", actor=ACTOR, reason="the disk is full")
    shown = ran("schedules", "show", "nightly").out
    for words in ("02:30 every day", '"hours": 3', "overlap", "2026-01-03 01:30:00 UTC", "the disk is full"):
        assert words in shown
    told = ran("schedules", "show", "nightly", "--json").json
    assert (told["expression"], told["params"], told["overlap"]) == ("30 2 * * *", {"hours": 3}, "skip")
    assert told["slots"][0] == {
        "planned_at": "2026-01-03T01:30:00Z",
        "due_at": "2026-01-03T01:30:00Z",
        "skipped": False,
    }
    assert [row["status"] for row in told["decisions"]] == ["fired"]
    assert (told["pause"]["scope"], told["pause"]["reason"]) == ("all", "the disk is full")


def test_a_faulty_schedule_can_be_looked_at(jobs: HandPlatform) -> None:
    create("bad")
    Schedule.objects.filter(id="bad").update(timezone="Asia/Nowhere")
    assert "Asia/Nowhere" in ran("schedules", "show", "bad").out
    assert ran("schedules", "list").code == 0
    told = ran("schedules", "next", "bad", "--json")
    assert (told.code, told.json["error"]["code"]) == (2, "ZONE_UNKNOWN")


def test_next_slots(jobs: HandPlatform) -> None:
    create("hourly", cron="0 * * * *")
    ran("schedules", "skip", "hourly")
    told = ran("schedules", "next", "hourly", "-n", "2", "--json").json
    assert (told["schedule_id"], told["expression"], told["timezone"]) == ("hourly", "0 * * * *", "UTC")
    assert [(slot["planned_at"], slot["skipped"]) for slot in told["slots"]] == [
        ("2026-01-01T13:00:00Z", True),
        ("2026-01-01T14:00:00Z", False),
    ]
    assert "to be skipped" in ran("schedules", "next", "hourly").out
    later = ran("schedules", "next", "hourly", "-n", "1", "--after", "2026-02-01T00:00", "--json").json
    assert later["slots"][0]["planned_at"] == "2026-02-01T01:00:00Z"


def test_of_an_interval_after_each_end_only_the_next_slot_is_told(jobs: HandPlatform) -> None:
    create("poll", every=420, from_="last_end")
    turn(jobs, at(12, 1))
    told = ran("schedules", "next", "poll", "--json").json
    assert [slot["planned_at"] for slot in told["slots"]] == ["2026-01-01T12:07:00Z"]
    turn(jobs, at(12, 7, 1))  # its job is unfinished now
    assert ran("schedules", "next", "poll", "--json").json["slots"] == []
    assert "after each end" in ran("schedules", "show", "poll").out


def test_why_is_a_sentence_with_its_reasons(jobs: HandPlatform) -> None:
    create("hourly", cron="0 * * * *", timezone="Asia/Tokyo")
    turn(jobs, at(13, 0, 1))
    for time in ("2026-01-01T22:00", "2026-01-01T13:00:00Z"):
        told = ran("schedules", "why", "hourly", time, "--json").json
        assert (told["verdict"], told["at"]) == ("decided", "2026-01-01T13:00:00Z")
        assert told["decision"]["status"] == "fired"
    answer = ran("schedules", "why", "hourly", "2026-01-01T13:00:00Z")
    assert answer.code == 0
    assert answer.out.strip()
    assert ran("schedules", "why", "hourly", "2026-01-01T13:30:00Z", "--json").json["verdict"] == "not_a_slot"


NAMES = ["Überprüfung nachts", "夜間バックアップ", "🚀 nightly", "نسخ ليلي", "50% of 'it' \"all\"", "n" * 200]


@pytest.mark.parametrize("name", NAMES)
def test_any_name_is_stored_listed_shown_and_run(jobs: HandPlatform, name: str) -> None:
    made = ran("schedules", "add", name, "--job", "tests.work", "--cron", "0 * * * *", "--misfire", "skip")
    assert (made.code, made.out) == (0, f"{name}\n")
    assert [row["id"] for row in ran("schedules", "list", "--json").json["schedules"]] == [name]
    assert ran("schedules", "show", name, "--json").json["id"] == name
    assert ran("schedules", "run", name, "--json").json["status"] == "fired"


@pytest.mark.parametrize("length", [201, 255, 256, 5000])
def test_a_name_that_is_too_long_is_refused_and_not_cut(jobs: HandPlatform, length: int) -> None:
    made = ran(
        "schedules", "add", "n" * length, "--job", "tests.work", "--cron", "0 * * * *", "--misfire", "skip"
    )
    assert made.code == 2
    assert "200" in made.err
    assert not Schedule.objects.exists()
