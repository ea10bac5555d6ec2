"""The one validator: each fault names its field, what was read, and a correction; what is good is stored whole."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import UTC, date, datetime, timedelta
from typing import Any

import pytest

from scheduler import definition
from scheduler.definition import Fault, ScheduleSpec
from scheduler.errors import ScheduleInvalid
from scheduler.models import Schedule
from tasks import registry
from tasks.handlers import job

NOW = datetime(2026, 3, 1, 12, 0, 0, 250_000, tzinfo=UTC)


@pytest.fixture(autouse=True)
def handler() -> Iterator[None]:
    with registry.preserved():

        @job("reports.daily")
        def daily(day: str = "today", depth: int = 1) -> None: ...

        @job("scan", app_id="video")
        def scan(folder: str) -> None: ...

        yield


def spec(**fields: Any) -> ScheduleSpec:
    given = {"id": "nightly", "job": "reports.daily", "misfire": "run_once", **fields}
    if not {"cron", "every", "months", "at", "manual"} & fields.keys():
        given["cron"] = "30 2 * * *"
    return ScheduleSpec(**given)


def fault(**fields: Any) -> Fault:
    faults = definition.check(spec(**fields))
    assert len(faults) == 1, faults
    return faults[0]


def columns(**fields: Any) -> dict[str, Any]:
    return definition.columns(spec(**fields), now=NOW)


def test_a_sound_schedule_has_no_fault() -> None:
    assert definition.check(spec(timezone="Europe/Berlin", overlap="skip", grace=30)) == []


@pytest.mark.parametrize(
    ("fields", "field", "code", "said", "suggested"),
    [
        ({"job": "reports.dayly"}, "job", "JOB_UNKNOWN", "'reports.dayly'", "'reports.daily'"),
        ({"job": "zzz"}, "job", "JOB_UNKNOWN", "nobody declares", "@job"),
        ({"job": ""}, "job", "JOB", "needs the job type", ""),
        ({"misfire": ""}, "misfire", "MISFIRE_MISSING", "run_once", "misfire="),
        ({"misfire": "runonce"}, "misfire", "MISFIRE", "Did you mean 'run_once'", ""),
        ({"overlap": "buffer"}, "overlap", "OVERLAP", "Did you mean 'buffer", ""),
        ({"cron": "0 2 * * *", "every": 60}, "when", "WHEN", "cron and every", "exactly one"),
        ({"cron": None}, "when", "WHEN", "nothing says when", "exactly one"),
        ({"cron": "61 2 * * *"}, "cron", "CRON_RANGE", "minute", ""),
        ({"timezone": "Europe/Berlim"}, "timezone", "ZONE_UNKNOWN", "Berlim", "'Europe/Berlin'"),
        ({"timezone": ""}, "timezone", "ZONE_EMPTY", "", ""),
        ({"timezone": "../../etc/passwd"}, "timezone", "ZONE_UNKNOWN", "", ""),
        ({"timezone": "x" * 10_000}, "timezone", "ZONE_LONG", "", ""),
        ({"every": 0}, "every", None, "", ""),
        ({"every": -5}, "every", None, "", ""),
        ({"every": 0.0001}, "every", None, "", ""),
        ({"every": "abc"}, "every", None, "", ""),
        ({"at": "tomorrow"}, "at", "TIME_SYNTAX", "tomorrow", "2026"),
        ({"jitter": -1}, "jitter", None, "", ""),
        ({"exclude": ["2026-02-30"]}, "exclude", "EXCLUDE_SYNTAX", "2026-02-30", ""),
        ({"gap": "leap"}, "gap", None, "leap", ""),
        ({"every": 60, "gap": "skip"}, "gap", None, "", ""),
        ({"params": {"dya": 1}}, "params", "PARAMS", "Did you mean 'day'", ""),
        ({"params": {"depth": "1"}}, "params", "PARAMS", "depth", ""),
        ({"params": [1]}, "params", "PARAMS", "object of named values", ""),
        ({"params": {"day": "x" * 300_000}}, "params", "PARAMS", "bytes", ""),
        ({"priority": "hurry"}, "priority", "PRIORITY", "USER_ACTION", ""),
        ({"queue": "with space"}, "queue", "QUEUE", "", ""),
        ({"max_attempts": 0}, "max_attempts", "ATTEMPTS", "1 to 1000", ""),
        ({"grace": 0}, "grace", "LENGTH", "", ""),
        ({"grace": 0.1}, "grace", "LENGTH", "at least 1 s", ""),
        ({"latest_start": float("nan")}, "latest_start", "LENGTH", "", ""),
        ({"catch_up_max": 0}, "catch_up_max", "COUNT", "", ""),
        ({"pause_after_failures": True}, "pause_after_failures", "COUNT", "", ""),
        ({"log_days": -1}, "log_days", "DAYS", "", ""),
        ({"tenants": "acme"}, "tenants", "TENANTS", "'*'", ""),
        ({"tenants": []}, "tenants", "TENANTS", "1 to", ""),
        ({"id": ""}, "id", "ID", "needs a name", ""),
        ({"id": " nightly"}, "id", "ID", "spaces", ""),
        ({"id": "a\nb"}, "id", "ID", "control characters", ""),
        ({"id": "x" * 201}, "id", "ID", "at most 200", ""),
        ({"id": 5}, "id", "ID", "expected text", ""),
    ],
)  # fmt: skip
def test_a_fault_names_the_field_what_was_read_and_a_correction(
    fields: dict[str, Any], field: str, code: str | None, said: str, suggested: str
) -> None:
    found = fault(**fields)
    assert found.field == field
    assert code is None or found.code == code
    assert said in found.message
    assert suggested in found.suggestion
    with pytest.raises(ScheduleInvalid, match=field) as refused:
        columns(**fields)
    assert refused.value.faults == (found,)
    assert "\n" not in str(found)


def test_every_fault_is_told_at_once() -> None:
    faults = definition.check(spec(id="", job="nope", cron="bad", misfire="", timezone="UTC"))
    assert {found.field for found in faults} == {"id", "job", "cron", "misfire"}


@pytest.mark.parametrize(
    "name", ["Überprüfung nachts", "夜間バックアップ", "🚀 nightly", "نسخ ليلي", 'it\'s 100 % "x"', "x" * 200]
)
def test_names_of_any_script_are_kept_whole(name: str) -> None:
    assert columns(id=name)["id"] == name


def test_two_spellings_of_one_name_are_one_name() -> None:
    assert columns(id="Caf\u0065\u0301")["id"] == columns(id="Caf\u00e9")["id"]


def test_a_naive_instant_is_read_in_the_zone_of_the_schedule() -> None:
    for written in ("2026-07-01T10:00:00", datetime(2026, 7, 1, 10), "2026-07-01T08:00:00Z"):
        stored = columns(at=written, timezone="Europe/Berlin")
        assert stored["trigger_config"]["at"] == "2026-07-01T08:00:00Z"
    bounds = columns(
        cron="0 0 * * *", timezone="Europe/Berlin", start="2026-07-01T00:00:00", end=date(2026, 8, 1)
    )
    assert bounds["trigger_config"]["start"] == "2026-06-30T22:00:00Z"
    assert bounds["trigger_config"]["end"] == "2026-07-31T22:00:00Z"


def test_an_interval_starts_at_the_whole_second_of_its_making() -> None:
    assert columns(every="7m")["trigger_config"] == {"every": 420, "anchor": "2026-03-01T12:00:00Z"}
    assert columns(every=timedelta(hours=1), anchor=datetime(2026, 1, 1, tzinfo=UTC))["trigger_config"] == {
        "every": 3600,
        "anchor": "2026-01-01T00:00:00Z",
    }


def test_an_edit_that_names_no_anchor_keeps_the_phase() -> None:
    standing = Schedule(**columns(every=600))
    later = definition.columns(spec(every=30), now=NOW + timedelta(hours=1), standing=standing)
    assert later["trigger_config"] == {"every": 30, "anchor": "2026-03-01T12:00:00Z"}
    from_cron = definition.columns(spec(every=30), now=NOW, standing=Schedule(**columns()))
    assert from_cron["trigger_config"]["anchor"] == "2026-03-01T12:00:00Z"


def test_params_are_kept_as_given_so_that_a_new_default_counts() -> None:
    assert columns(params={"depth": 3})["params"] == {"depth": 3}
    assert columns()["params"] == {}


def test_a_job_of_an_app_is_named_both_ways() -> None:
    short = columns(job="video:scan", params={"folder": "a"})
    assert short == columns(job="scan", app_id="video", params={"folder": "a"})
    assert (short["app_id"], short["job_type"]) == ("video", "scan")


def test_a_manual_schedule_needs_no_misfire_policy() -> None:
    stored = columns(manual=True, misfire="")
    assert (stored["trigger_type"], stored["trigger_config"], stored["misfire"]) == ("manual", {}, "skip")


def test_zones_are_stored_by_their_name() -> None:
    assert columns(timezone="utc")["timezone"] == "UTC"


@pytest.mark.parametrize(
    "fields",
    [
        {"gap": "skip", "fold": "both", "exclude": [date(2026, 12, 24), "12-25"], "max_runs": 3, "jitter": 60},
        {"every": 90, "start": "2026-04-01T00:00:00Z", "misfire_limit": 5, "misfire": "catch_up_limited"},
        {"every": 90, "from_": "last_end"},
        {"months": 1, "anchor": "2026-01-31T09:00:00", "month_end": "skip", "timezone": "Europe/Berlin"},
        {"at": "2026-07-01T10:00:00Z", "tenants": ["b", "a", "a"]},
        {"manual": True, "tenants": "*", "params": {"depth": 2}, "priority": "user_action", "queue": "films"},
        {"overlap": "buffer_one", "grace": 9, "catch_up_window": timedelta(days=2), "catch_up_max": 7,
         "latest_start": 60, "pause_after_failures": 3, "max_attempts": 2, "log_days": 5, "description": "a\nb"},
    ],
)  # fmt: skip
def test_what_is_read_from_a_row_is_what_was_stored(fields: dict[str, Any]) -> None:
    stored = columns(**fields)
    row = Schedule(**stored)
    again = definition.read(row)
    assert definition.check(again) == []
    assert definition.columns(again, now=NOW + timedelta(days=1), standing=row) == stored


def test_a_corrupt_row_can_be_read_to_be_mended() -> None:
    row = Schedule(**columns())
    row.trigger_config = {"cron": 7, "nonsense": 1}
    row.timezone, row.trigger_type = "Asia/Nowhere", "cron"
    assert {found.field for found in definition.check(definition.read(row))} <= {"cron", "timezone"}
    for broken in ([], "text", None, {"every": 60}):
        row.trigger_config = broken
        assert definition.check(definition.read(row))
    row.trigger_type = "weekly"
    assert definition.check(definition.read(row))


def test_policies_take_what_the_row_leaves_out_from_the_settings() -> None:
    policies = definition.policies_of(Schedule(**columns(max_runs=9)))
    assert (policies.grace, policies.misfire_limit, policies.max_runs) == (timedelta(seconds=8), 3, 9)
    own = definition.policies_of(
        Schedule(**columns(grace=30, misfire_limit=2, catch_up_window=60, catch_up_max=4))
    )
    assert own.grace == timedelta(seconds=30)
    assert (own.misfire_limit, own.catch_up_window, own.catch_up_max) == (2, timedelta(minutes=1), 4)
