"""The configuration of a timetable: what is stored, what is refused."""

from __future__ import annotations

from typing import Any

import pytest

from scheduler.timetables import TimetableError, build, limits, normalise
from tests.pure.timetables.moments import at


def test_what_is_stored_is_put_in_order() -> None:
    given = {
        "every": "1h30m",
        "anchor": "2026-07-01T10:00:00",
        "from": "slot",
        "start": "2026-07-01",
        "end": "",
        "exclude": ["12-25", "2026-12-01", "12-25"],
        "jitter_seconds": 0,
        "max_runs": 3,
        "misfire_limit": None,
    }
    stored = normalise("interval", given, "Europe/Berlin")
    assert stored == {
        "every": 5400,
        "anchor": "2026-07-01T08:00:00Z",
        "start": "2026-06-30T22:00:00Z",
        "exclude": ["12-25", "2026-12-01"],
        "max_runs": 3,
    }
    assert normalise("interval", stored, "Europe/Berlin") == stored
    assert normalise("interval", {"months": 3}, "UTC") == {"months": 3, "month_end": "clamp"}
    assert normalise("manual", {}, "utc") == {}


@pytest.mark.parametrize(
    ("kind", "config", "code", "field"),
    [
        ("crn", {}, "TRIGGER_TYPE", "trigger_type"),
        (None, {}, "TRIGGER_TYPE", "trigger_type"),
        ("cron", [], "CONFIG_TYPE", "trigger_config"),
        ("cron", None, "CONFIG_TYPE", "trigger_config"),
        ("cron", "* * * * *", "CONFIG_TYPE", "trigger_config"),
        ("cron", {}, "CONFIG_MISSING", "cron"),
        ("cron", {"crn": "* * * * *"}, "CONFIG_KEY", "crn"),
        ("cron", {"cron": "* * * * *", "every": 5}, "CONFIG_KEY", "every"),
        ("cron", {"cron": "* * * * *", 5: 5}, "CONFIG_KEY", "5"),
        ("cron", {"cron": "* * * * *", "gap": "shft"}, "CONFIG_WORD", "gap"),
        ("cron", {"cron": "* * * * *", "fold": ["first"]}, "CONFIG_WORD", "fold"),
        ("cron", {"cron": "* * * * *", "max_runs": 0}, "CONFIG_NUMBER", "max_runs"),
        ("cron", {"cron": "* * * * *", "max_runs": True}, "CONFIG_NUMBER", "max_runs"),
        ("cron", {"cron": "* * * * *", "misfire_limit": "3"}, "CONFIG_NUMBER", "misfire_limit"),
        ("cron", {"cron": "* * * * *", "jitter_seconds": 1.5}, "CONFIG_NUMBER", "jitter_seconds"),
        ("cron", {"cron": "* * * * *", "jitter_seconds": 10**9}, "CONFIG_NUMBER", "jitter_seconds"),
        ("cron", {"cron": "* * * * *", "start": "x"}, "TIME_SYNTAX", "start"),
        ("cron", {"cron": "* * * * *", "start": "2026-02-01", "end": "2026-01-01"}, "BOUNDS", "end"),
        ("cron", {"cron": "* * * * *", "exclude": "12-25"}, "EXCLUDE_SYNTAX", "exclude"),
        ("cron", {"cron": "* * * * *", "exclude": ["12-32"]}, "EXCLUDE_SYNTAX", "exclude"),
        ("cron", {"cron": "* * * * *", "exclude": ["2026-02-29"]}, "EXCLUDE_SYNTAX", "exclude"),
        ("cron", {"cron": "* * * * *", "exclude": [{"a": 1}]}, "EXCLUDE_SYNTAX", "exclude"),
        (
            "cron",
            {"cron": "* * * * *", "exclude": [f"{y}-01-01" for y in range(1000, 2001)]},
            "EXCLUDE_MANY",
            "exclude",
        ),
        ("interval", {}, "CONFIG_MISSING", "every"),
        ("interval", {"every": 5, "months": 5}, "CONFIG_BOTH", "every"),
        ("interval", {"every": 5, "month_end": "skip"}, "CONFIG_KEY", "month_end"),
        ("interval", {"months": 5, "from": "last_end"}, "CONFIG_KEY", "from"),
        ("interval", {"months": 0}, "CONFIG_NUMBER", "months"),
        ("interval", {"months": 1, "month_end": "never"}, "CONFIG_WORD", "month_end"),
        ("interval", {"every": 5, "from": "end"}, "CONFIG_WORD", "from"),
        ("date", {}, "CONFIG_MISSING", "at"),
        ("manual", {"at": "2026-01-01"}, "CONFIG_KEY", "at"),
    ],
)
def test_a_configuration_that_cannot_be_is_refused_by_its_field(
    kind: str, config: Any, code: str, field: str
) -> None:
    for door in (build, normalise):
        with pytest.raises(TimetableError) as refused:
            door(kind, config, "UTC")  # type: ignore[operator]
        assert (refused.value.code, refused.value.field) == (code, field)
        assert len(str(refused.value)) < 400 and "\n" not in str(refused.value)


def test_the_nearest_name_is_told() -> None:
    for config, hint in (({"crn": "x"}, "'cron'"), ({"cron": "* * * * *", "gap": "shft"}, "'shift'")):
        with pytest.raises(TimetableError, match=hint):
            normalise("cron", config, "UTC")
    with pytest.raises(TimetableError, match="'interval'"):
        normalise("intervall", {"every": 5}, "UTC")


def test_equal_numbers_of_other_types_are_not_taken_for_one_another() -> None:
    assert build("interval", {"every": 1}, "UTC").next(at("2026-01-01")) == at("2026-01-01T00:00:01")
    with pytest.raises(TimetableError):
        build("interval", {"every": True}, "UTC")


def test_limits_are_read_apart() -> None:
    assert limits({"cron": "* * * * *", "max_runs": 5}) == (5, None)
    assert limits({"misfire_limit": 7}) == (None, 7)
    with pytest.raises(TimetableError):
        limits({"max_runs": -1})
