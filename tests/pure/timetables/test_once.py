"""A date comes once; manual never by itself."""

from __future__ import annotations

import pytest

from scheduler.timetables import TimetableError, build, normalise
from tests.pure.timetables.moments import at


def test_a_date_comes_once() -> None:
    slot = at("2026-07-01T08:00")
    for _ in range(2):  # as before and after a restart
        timetable = build("date", {"at": "2026-07-01T10:00:00"}, "Europe/Berlin")
        assert timetable.next(at("2026-01-01")) == slot
        assert timetable.next(slot) is None
        assert timetable.previous(slot) is None
        assert timetable.previous(at("2026-07-01T08:00:01")) == slot
        assert timetable.matches(slot) and not timetable.matches(at("2026-07-01T08:00:01"))
        assert timetable.count(at("2020-01-01"), at("2030-01-01")) == 1
        assert timetable.count(slot, at("2030-01-01")) == 0


@pytest.mark.parametrize(
    ("written", "zone", "stored"),
    [
        ("2026-07-01T10:00:00", "Europe/Berlin", "2026-07-01T08:00:00Z"),
        ("2026-07-01T10:00:00+02:00", "Asia/Tokyo", "2026-07-01T08:00:00Z"),
        ("2026-07-01T10:00:00Z", "Europe/Berlin", "2026-07-01T10:00:00Z"),
        ("2026-07-01 10:00", "UTC", "2026-07-01T10:00:00Z"),
        ("2026-07-01", "Europe/Berlin", "2026-06-30T22:00:00Z"),
        ("2026-07-01T10:00:00.9Z", "UTC", "2026-07-01T10:00:00Z"),
        # Skipped by the clocks: their change. Repeated: the first pass.
        ("2026-03-29T02:30:00", "Europe/Berlin", "2026-03-29T01:00:00Z"),
        ("2026-10-25T02:30:00", "Europe/Berlin", "2026-10-25T00:30:00Z"),
        ("2011-12-30T12:00:00", "Pacific/Apia", "2011-12-30T10:00:00Z"),
        (at("2026-07-01T10:00"), "Asia/Tokyo", "2026-07-01T10:00:00Z"),
    ],
)
def test_an_instant_is_stored_in_utc(written: object, zone: str, stored: str) -> None:
    assert normalise("date", {"at": written}, zone) == {"at": stored}
    assert normalise("date", {"at": stored}, zone) == {"at": stored}


@pytest.mark.parametrize(
    ("written", "code"),
    [
        ("tomorrow", "TIME_SYNTAX"), ("2026-02-30T00:00:00", "TIME_SYNTAX"), ("10:00", "TIME_SYNTAX"),
        (1_767_225_600, "TIME_SYNTAX"), ("\uff12026-01-01", "TIME_SYNTAX"), ("2026-01-01" + " " * 99, "TIME_SYNTAX"),
        ("0001-01-01T00:00:00", "TIME_RANGE"), ("9999-12-31T23:59:59-10:00", "TIME_RANGE"),
        ("1899-12-31T23:59:59Z", "TIME_RANGE"), ("3000-01-01T00:00:00Z", "TIME_RANGE"), (None, "CONFIG_MISSING"),
    ],
)  # fmt: skip
def test_no_instant_is_refused(written: object, code: str) -> None:
    with pytest.raises(TimetableError) as refused:
        build("date", {"at": written}, "Asia/Tokyo")
    assert (refused.value.code, refused.value.field) == (code, "at")


def test_manual_has_no_slots() -> None:
    timetable = build("manual", {}, "UTC")
    assert timetable.next(at("2026-01-01")) is timetable.previous(at("2026-01-01")) is None
    assert not timetable.matches(at("2026-01-01"))
    assert timetable.count(at("2026-01-01"), at("2027-01-01")) == 0
