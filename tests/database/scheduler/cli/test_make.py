"""`schedules add`, `edit`, `archive`, `restore`, `sync` and `check`."""

import pytest

from jobsplatform.testing.platform import HandPlatform
from scheduler.models import Pause, Schedule
from scheduler.registry import registry
from tests.database.cli.ran import ran
from tests.database.scheduler.tools import at, create, decided, turn

pytestmark = pytest.mark.usefixtures("work")
ADD = ["schedules", "add", "s", "--job", "tests.work"]


def test_a_schedule_is_made_with_all_that_was_said(jobs: HandPlatform) -> None:
    made = ran(
        *ADD, "--cron", "30 2 * * *", "--timezone", "Europe/Berlin", "--misfire", "catch_up_limited",
        "--misfire-limit", "2", "--catch-up-window", "2d", "--catch-up-max", "5", "--overlap", "buffer_one",
        "--latest-start", "1h", "--pause-after-failures", "3", "--grace", "1m", "--priority", "urgent",
        "--queue", "default", "--max-attempts", "2", "--param", "hours=3", "--description", "Nightly",
        "--exclude", "12-24", "--exclude", "2026-05-01", "--jitter", "30s", "--gap", "skip", "--json",
    )  # fmt: skip
    assert made.code == 0, made.err
    row = Schedule.objects.get()
    assert (row.misfire, row.misfire_grace_seconds, row.catch_up_window_seconds) == (
        "catch_up_limited",
        60,
        172_800,
    )
    assert (row.overlap, row.latest_start_seconds, row.pause_after_failures) == ("buffer_one", 3600, 3)
    assert (row.params, row.max_attempts, row.queue) == ({"hours": 3}, 2, "default")
    config = row.trigger_config
    assert (config["misfire_limit"], config["jitter_seconds"], config["gap"]) == (2, 30, "skip")
    assert config["exclude"] == ["12-24", "2026-05-01"]
    told = made.json
    assert (told["id"], told["dry_run"], told["source"]) == ("s", False, "admin")
    assert told["slots"][0]["planned_at"] == "2026-01-02T01:30:00Z"
    assert told["clock_changes"][0]["kind"] == "gap"


def test_every_kind_of_timetable(jobs: HandPlatform) -> None:
    for name, argv in {
        "cron": ["--cron", "@daily", "--misfire", "skip"],
        "every": ["--every", "1h30m", "--misfire", "skip"],
        "months": [
            "--months",
            "1",
            "--anchor",
            "2026-01-31T10:00Z",
            "--month-end",
            "skip",
            "--misfire",
            "skip",
        ],
        "at": ["--at", "2026-03-01T10:00", "--timezone", "Asia/Tokyo", "--misfire", "run_once"],
        "manual": ["--manual"],
    }.items():
        assert ran("schedules", "add", name, "--job", "tests.work", *argv).code == 0
    assert (
        ran(
            "schedules",
            "add",
            "end",
            "--job",
            "tests.work",
            "--every",
            "5m",
            "--from",
            "last_end",
            "--misfire",
            "skip",
        ).out
        == "end\n"
    )
    assert Schedule.objects.get(id="end").trigger_config["from"] == "last_end"
    Schedule.objects.get(id="end").delete()
    kinds = dict(Schedule.objects.values_list("id", "trigger_type"))
    assert kinds == {
        "cron": "cron",
        "every": "interval",
        "months": "interval",
        "at": "date",
        "manual": "manual",
    }
    assert Schedule.objects.get(id="at").trigger_config == {"at": "2026-03-01T01:00:00Z"}


def test_a_dry_run_stores_nothing(jobs: HandPlatform) -> None:
    made = ran(*ADD, "--cron", "0 3 * * *", "--misfire", "skip", "--dry-run", "--json")
    assert (made.code, made.json["dry_run"]) == (0, True)
    assert not Schedule.objects.exists()
    assert ran(*ADD, "--cron", "0 25 * * *", "--misfire", "skip", "--dry-run").code == 2


def test_a_disabled_one_begins_paused(jobs: HandPlatform) -> None:
    ran(*ADD, "--cron", "0 3 * * *", "--misfire", "skip", "--disabled")
    assert Pause.objects.get().target == "s"


def test_an_edit_changes_what_is_said_and_tells_what_moves(jobs: HandPlatform) -> None:
    create(cron="0 3 * * *", params={"hours": 2}, overlap="skip", description="old")
    told = ran("schedules", "edit", "s", "--cron", "0 4 * * *", "--param", "note=x", "--json").json
    row = Schedule.objects.get()
    assert (row.trigger_config, row.overlap, row.description) == ({"cron": "0 4 * * *"}, "skip", "old")
    assert row.params == {"hours": 2, "note": "x"}
    assert row.revision == 2
    assert (told["added"][0], told["removed"][0]) == ("2026-01-02T04:00:00Z", "2026-01-02T03:00:00Z")
    assert ran("schedules", "edit", "s", "--unset", "overlap", "--unset", "description").code == 0
    row.refresh_from_db()
    assert (row.overlap, row.description) == ("", "")


def test_an_edit_to_another_kind_of_timetable_leaves_nothing_of_the_old_one(jobs: HandPlatform) -> None:
    create(cron="0 3 * * *", gap="skip", fold="both")
    assert ran("schedules", "edit", "s", "--every", "1h").code == 0
    row = Schedule.objects.get()
    assert (row.trigger_type, row.trigger_config["every"]) == ("interval", 3600)
    assert ran("schedules", "edit", "s", "--at", "2026-02-01T00:00Z").code == 0
    row.refresh_from_db()
    assert row.trigger_config == {"at": "2026-02-01T00:00:00Z"}


def test_an_edit_of_a_dry_run_stores_nothing(jobs: HandPlatform) -> None:
    create(cron="0 3 * * *")
    told = ran("schedules", "edit", "s", "--cron", "0 4 * * *", "--dry-run", "--json").json
    assert (told["expression"], told["dry_run"]) == ("0 4 * * *", True)
    assert Schedule.objects.get().trigger_config == {"cron": "0 3 * * *"}


def test_an_edit_of_an_older_revision_is_refused(jobs: HandPlatform) -> None:
    create(cron="0 3 * * *")
    ran("schedules", "edit", "s", "--cron", "0 4 * * *")
    answer = ran("schedules", "edit", "s", "--cron", "0 5 * * *", "--revision", "1", "--json")
    assert (answer.code, answer.json["error"]["code"]) == (2, "SCHEDULE_CONFLICT")
    assert Schedule.objects.get().trigger_config == {"cron": "0 4 * * *"}


def test_archived_and_restored(jobs: HandPlatform) -> None:
    create()
    assert ran("schedules", "archive", "s").code == 0
    assert Schedule.objects.get().archived_at is not None
    for argv in (["run", "s"], ["skip", "s"], ["edit", "s", "--cron", "@daily"], ["pause", "s"]):
        assert "archived" in ran("schedules", *argv).err
    assert ran("schedules", "restore", "s").code == 0
    turn(jobs, at(12, 1, 1))
    assert decided() == [("12:01:00", "fired", 1)]


def test_sync_stores_what_code_declares(jobs: HandPlatform) -> None:
    from scheduler.declare import schedule

    with registry.preserved():
        for declared in registry.all():
            registry.unregister(declared.id)
        schedule("coded", job="tests.work", cron="0 3 * * *", misfire="skip")
        told = ran("schedules", "sync", "--json").json
        assert told == {"created": ["coded"], "updated": [], "archived": [], "unchanged": [], "faults": []}
        assert ran("schedules", "sync").out == "1 unchanged.\n"
        refused = ran("schedules", "edit", "coded", "--cron", "0 4 * * *", "--json")
        assert (refused.code, refused.json["error"]["code"]) == (2, "SCHEDULE_READ_ONLY")
        schedule("wrong", job="tests.wrok", cron="0 25 * * *", misfire="skip")
        answer = ran("schedules", "sync", "--json")
        assert answer.code == 2
        assert "tests.work" in str(answer.json["faults"])
        registry.unregister("coded")
        registry.unregister("wrong")
        assert ran("schedules", "sync").out == "archived  coded\n0 unchanged.\n"


def test_check_tells_every_fault_with_its_place(jobs: HandPlatform) -> None:
    from scheduler.declare import schedule

    create("stored")
    with registry.preserved():
        for declared in registry.all():
            registry.unregister(declared.id)
        schedule("fine", job="tests.work", cron="0 3 * * *", misfire="skip")
        assert ran("schedules", "check").out == "1 declared, 1 stored: all well.\n"
        schedule("wrong", job="tests.wrok", cron="0 25 * * *", timezone="Europe/Berlin")
        Schedule.objects.filter(id="stored").update(timezone="Asia/Nowhere")
        answer = ran("schedules", "check", "--json")
        assert (answer.code, answer.json["ok"]) == (1, False)
        fields = {(fault["schedule_id"], fault["field"]) for fault in answer.json["faults"]}
        assert fields >= {("wrong", "job"), ("wrong", "cron"), ("wrong", "misfire"), ("stored", "timezone")}
        assert "test_make.py" in ran("schedules", "check", "--code").out
        assert "stored" not in ran("schedules", "check", "--code").out
