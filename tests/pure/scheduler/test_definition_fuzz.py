"""Whatever somebody writes into whatever field: faults, never a traceback, and what passes can be read back."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import UTC, date, datetime, timedelta
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from scheduler import definition
from scheduler.definition import Fault, ScheduleSpec
from scheduler.models import Schedule
from scheduler.states import Fold, Gap, Misfire, Overlap
from tasks import registry
from tasks.handlers import job

NOW = datetime(2026, 3, 1, 12, tzinfo=UTC)
FIELDS = sorted(set(ScheduleSpec.__dataclass_fields__) - {"enabled"})


@pytest.fixture(autouse=True, scope="module")
def handler() -> Iterator[None]:
    with registry.preserved():

        @job("fuzz.work")
        def work(n: int = 0, t: str = "") -> None: ...

        yield


anything = st.recursive(
    st.none()
    | st.booleans()
    | st.integers()
    | st.floats()
    | st.text(max_size=20)
    | st.binary(max_size=5)
    | st.datetimes()
    | st.datetimes(timezones=st.just(UTC))
    | st.dates()
    | st.timedeltas(),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=5), inner, max_size=3),
    max_leaves=5,
)
likely = st.sampled_from(
    [
        "* * * * *", "0 0 31 2 *", "@daily", "61 * * * *", "7m", "P1D", "1e12", 1e12, -1, 0, 0.5, 60, 10**30, "skip",
        "run_once", "both", "Europe/Berlin", "utc", "Mars/Base", "../x", "2026-07-01T10:00", "02-29", "slot",
        "last_end", "clamp", "*", ["a", "b"], [""], {"n": 1}, {"n": "1"}, {"m": 1}, {1: 1}, date(2026, 1, 1),
        timedelta(days=1),
        timedelta(microseconds=1), datetime.max, datetime.min, float("nan"), float("inf"), "x" * 300, "\ud800", "a\x00",
        Misfire.SKIP, Overlap.ALLOW, Gap.SKIP, Fold.BOTH, True, False, None, "", b"x", object,
    ]
)  # fmt: skip


@settings(max_examples=400, deadline=None)
@given(st.dictionaries(st.sampled_from(FIELDS), likely | anything, max_size=5))
def test_no_field_can_break_the_validator(fields: dict[str, Any]) -> None:
    given_fields = {"id": "s", "job": "fuzz.work", "misfire": "skip", **fields}
    if not {"cron", "every", "months", "at", "manual"} & fields.keys():
        given_fields["cron"] = "* * * * *"
    wish = ScheduleSpec(**given_fields)
    faults = definition.check(wish)
    assert all(isinstance(fault, Fault) and fault.message for fault in faults)
    assert all(len(str(fault)) < 2000 and "\n" not in str(fault) for fault in faults)
    if not faults:
        stored = definition.columns(wish, now=NOW)
        row = Schedule(**stored)
        again = definition.columns(definition.read(row), now=NOW + timedelta(days=9), standing=row)
        assert again == stored
        definition.policies_of(row)
        timetable = definition.timetable_of(row)
        if not timetable.follows_end:
            timetable.next(NOW)


@settings(max_examples=200, deadline=None)
@given(
    anything,
    st.text(max_size=10) | st.sampled_from(["cron", "interval", "date", "manual"]),
    anything,
    anything,
)
def test_no_row_can_break_its_reading(config: Any, kind: str, zone: Any, params: Any) -> None:
    row = Schedule(id="s", job_type="fuzz.work", misfire="skip", trigger_type=kind, trigger_config=config,
                   timezone=zone, params=params)  # fmt: skip
    definition.check(definition.read(row))
