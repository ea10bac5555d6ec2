"""Whatever somebody writes into a field: refused at once with a short sentence, or stored, read back and run."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Any

import pytest

from jobsplatform.kernel import clock
from jobsplatform.testing.platform import HandPlatform
from scheduler import definition, queries
from scheduler.models import Schedule
from scheduler.why import why
from tasks.handlers import FunctionHandler, job
from tests.database.scheduler.tools import at, create, fired, spec, turn


@pytest.fixture(autouse=True)
def work(jobs: HandPlatform) -> FunctionHandler:
    @job("tests.work")
    def work(n: int = 0) -> int:
        return n

    return work


NAN, INF = float("nan"), float("inf")
NUMBERS = (-1, 1e308, 10**30, 10**5000, NAN, INF, "x", b"1")
REFUSED: dict[str, tuple[Any, ...]] = {
    "id": ("", " ", "a\x00b", "x" * 201, "a\nb", None, 5, b"x", "\ud800"),
    "params": (
        NAN,
        {"n": NAN},
        {"n": "a\x00"},
        {"n": b"x"},
        {1: 2},
        "x",
        {"n": object()},
        {"n": 10**400},
        {"y" * 10**6: 1},
    ),
    "every": (
        0,
        -5,
        0.0001,
        1e12,
        "abc",
        True,
        NAN,
        INF,
        [],
        "9" * 5000,
        10**5000,
        b"7m",
        "7m\x00",
    ),
    "at": ("", "x", 5, datetime.max, datetime.min, datetime(9999, 12, 31, tzinfo=UTC), "2026-02-30T00:00"),
    "cron": (5, b"* * * * *", "\x00", "* * * * *\x00", ["*"] * 5, {}),
    "timezone": ("", "../../etc/passwd", "x" * 10_000, None, 5, "Mars/Base", "UTC\x00", b"UTC", "\ud800"),
    "tenants": ("acme", "", [], [""], [1], ["a" * 101], ["a\x00"], ["*"], ["a", "*"], 5),
    "exclude": ([1], [None], ["x"], "nonsense", {"a": 1}, ["02-30"]),
    "grace": NUMBERS,
    "catch_up_window": NUMBERS,
    "catch_up_max": NUMBERS,
    "misfire_limit": NUMBERS,
    "max_runs": (0, *NUMBERS),
    "jitter": NUMBERS,
    "latest_start": NUMBERS,
    "pause_after_failures": NUMBERS,
    "log_days": NUMBERS,
    "priority": NUMBERS,
    "max_attempts": NUMBERS,
    "queue": ("a\x00", "x" * 300, 5),
    "misfire": (None, "", "bogus", 5),
    "overlap": ("bogus", 5),
    "job": ("", None, 5, "\x00", "nope"),
}


@pytest.mark.parametrize("field", REFUSED)
def test_what_cannot_be_is_said_in_short_and_stores_nothing(field: str) -> None:
    for number, value in enumerate(REFUSED[field]):
        faults = definition.check(spec(**{"id": "s", field: value}))
        assert faults, f"{field} {number}"
        for fault in faults:
            assert fault.message and len(str(fault)) < 1000, f"{field} {number}"
        with pytest.raises(definition.ScheduleInvalid):
            create(**{"schedule_id": "s", field: value}) if field != "id" else create(value)  # type: ignore[arg-type]
    assert not Schedule.objects.exists()


@pytest.mark.parametrize(
    "name",
    ["x" * 200, "🚀" * 200, "a/b'\"c%", "e\u0301", "\u202e", "../x", "-n", "--json", "a;b\\c<b>"],
    ids=ascii,
)
def test_any_name_goes_through_the_planner(jobs: HandPlatform, name: str) -> None:
    stored = create(name).pk
    assert definition.check(definition.read(Schedule.objects.get(pk=stored))) == []
    turn(jobs, at(12, 2))
    assert fired(stored) == ["12:01:00", "12:02:00"]
    assert (
        queries.show(stored, now=clock.now()).decisions and why(stored, at(12, 1), "", clock.now()).sentence
    )
