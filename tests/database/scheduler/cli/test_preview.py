"""`schedules preview`: the slots of a timetable, without a database."""

import json

import pytest

from scheduler.timetables import build
from tests.database.cli.ran import Ran, from_shell, ran
from tests.database.cli.test_unreachable import NOBODY, shell


def preview(*argv: str) -> Ran:
    return ran("schedules", "preview", *argv)


@pytest.mark.parametrize(
    ("argv", "expression", "slots"),
    [
        (
            ["--cron", "30 2 * * *", "--timezone", "Europe/Berlin", "--after", "2026-03-27T01:30:00Z", "-n", "3"],
            "30 2 * * *",
            ["2026-03-28T01:30:00Z", "2026-03-29T01:00:00Z", "2026-03-30T00:30:00Z"],
        ),
        (
            ["--every", "7m", "--timezone", "UTC", "--after", "2026-01-01T00:00:00+00:00", "-n", "2"],
            "every 7m",
            ["2026-01-01T00:07:00Z", "2026-01-01T00:14:00Z"],
        ),
        (
            ["--every", "7m", "--anchor", "2026-01-01T00:01", "--after", "2026-01-01T00:08:00Z", "-n", "2"],
            "every 7m",
            ["2026-01-01T00:15:00Z", "2026-01-01T00:22:00Z"],
        ),
        (
            ["--months", "1", "--anchor", "2026-01-31T10:00Z", "--after", "2026-01-31T10:00Z", "-n", "2"],
            "every month",
            ["2026-02-28T10:00:00Z", "2026-03-31T10:00:00Z"],
        ),
        (
            ["--cron", "0 12 * * *", "--after", "2026-12-23T12:00Z", "--exclude", "12-24", "-n", "1"],
            "0 12 * * *",
            ["2026-12-25T12:00:00Z"],
        ),
        (
            ["--cron", "30 2 * * *", "--gap", "skip", "--timezone", "Europe/Berlin", "--after", "2026-03-28T12:00Z",
             "--end", "2026-03-31T00:00Z"],
            "30 2 * * *",
            ["2026-03-30T00:30:00Z"],
        ),
    ],
)  # fmt: skip
def test_slots_as_a_document_of_exactly_three_names(argv, expression, slots):
    answer = preview(*argv, "--json")
    assert answer.code == 0
    zone = argv[argv.index("--timezone") + 1] if "--timezone" in argv else "UTC"
    assert answer.json == {"expression": expression, "timezone": zone, "slots": slots}


def test_after_is_left_out_itself_and_read_in_the_zone():
    argv = [
        "--cron",
        "0 9 * * *",
        "--timezone",
        "Asia/Tokyo",
        "--after",
        "2026-01-15T09:00",
        "-n",
        "1",
        "--json",
    ]
    assert preview(*argv).json["slots"] == ["2026-01-16T00:00:00Z"]


def test_a_date_that_has_passed_has_no_slot():
    answer = preview("--at", "2026-01-01T00:00:00Z", "--after", "2026-01-01T00:00:00Z", "--json")
    assert (answer.code, answer.json["slots"]) == (0, [])
    assert "No slot" in preview("--at", "2026-01-01T00:00:00Z", "--after", "2026-01-01").out


def test_people_see_the_wall_clock_too():
    lines = preview(
        "--cron", "30 2 * * *", "--timezone", "Europe/Berlin", "--after", "2026-03-28T12:00Z", "-n", "1"
    ).out.splitlines()
    assert "02:30 every day" in lines[0]
    assert lines[-1] == "2026-03-29 01:00:00 UTC  Sun 2026-03-29 03:00 CEST"


WRONG = [
    # (arguments, code, what message or suggestion must hold)
    (["--cron", "0 25 * * *"], "CRON_RANGE", "0 and 23"),
    (["--cron", "30 2 31 2 *"], "CRON_NEVER", "L is its last"),
    (["--cron", "* * * * * *"], None, "every 30s"),
    (["--cron", "@reboot"], None, ""),
    (["--cron", "x" * 5000], "CRON_LONG", "256"),
    (["--cron", "* * * * *", "--timezone", "Mars/Base"], "ZONE_UNKNOWN", "Did you mean"),
    (["--cron", "* * * * *", "--timezone", "../../etc/passwd"], None, ""),
    (["--cron", "* * * * *", "--timezone", "x" * 10_000], None, ""),
    (["--every", "0.5s"], None, "7m"),
    (["--every", "often"], None, "7m"),
    (["--at", "soon"], "TIME_SYNTAX", "2026-07-01"),
    (["--cron", "* * * * *", "--after", "soon"], "INVALID_INPUT", "2026-01-31T12:00"),
    (["--cron", "* * * * *", "--every", "5m"], "INVALID_INPUT", "exclude each other"),
    (["--every", "5m", "--gap", "skip"], "INVALID_INPUT", "goes with --cron"),
    (["--cron", "* * * * *", "--gap", "skp"], None, "skip"),
    (["--cron", "* * * * *", "--exclude", "Christmas"], None, ""),
    (["--months", "one"], "INVALID_INPUT", "whole number"),
    ([], "INVALID_INPUT", "--cron"),
]  # fmt: skip


@pytest.mark.parametrize(("argv", "code", "words"), WRONG)
def test_a_refusal_is_a_document_and_a_line(argv, code, words):
    answer = preview(*argv, "--json")
    assert answer.code == 2
    error = answer.json["error"]
    assert set(error) == {"code", "message", "suggestion"}
    assert code in (None, error["code"])
    assert words in f"{error['message']} {error['suggestion']}"
    assert len(answer.err.splitlines()) == 1
    assert preview(*argv).code == 2
    assert preview(*argv).out == ""


@pytest.mark.parametrize(
    "argv",
    [
        ["--cron", ""],
        ["--cron", "* * * * *", "-n", "0"],
        ["--crn", "x"],
        ["--cron", "* * * * *", "--timezone="],
    ],
)
def test_what_the_parser_refuses_is_a_document_too(capsys, argv):
    answer = from_shell(capsys, "schedules", "preview", *argv, "--json")
    assert answer.code == 2
    assert set(answer.json["error"]) == {"code", "message", "suggestion"}
    assert "Traceback" not in answer.err
    assert len(answer.err.splitlines()) == 1


@pytest.mark.parametrize(
    "rule", [("--cron", "*/5 * * * *"), ("--every", "5m"), ("--at", "2126-01-01T00:00:00Z")]
)
def test_it_needs_no_database(rule):
    answer = shell("schedules", "preview", *rule, "-n", "2", "--json", DATABASE_URL=NOBODY)
    assert (answer.returncode, answer.stderr) == (0, "")
    assert json.loads(answer.stdout)["slots"]


def test_a_hashed_field_is_that_of_the_id():
    argv = ["--cron", "H H * * *", "--after", "2026-01-01T00:00Z", "-n", "1", "--json"]
    first, second, again = (preview(*argv, "--id", name).json["slots"] for name in ("a", "b", "a"))
    assert first == again != second


def test_it_says_what_the_timetable_says():
    timetable = build("cron", {"cron": "5/15 */3 * * mon#2"}, "America/New_York")
    answer = preview(
        "--cron", "5/15 */3 * * mon#2", "--timezone", "America/New_York", "--after", "2026-01-01", "--json"
    ).json
    assert answer["expression"] == timetable.expression
    assert len(answer["slots"]) == 10
