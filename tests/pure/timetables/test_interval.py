"""Intervals keep their phase; months keep their day."""

from __future__ import annotations

from datetime import timedelta
from random import Random

import pytest

from scheduler.timetables import TimetableError, build
from tests.pure.timetables.moments import at, cron, following, interval, within

MINUTE = timedelta(minutes=1)


def test_a_year_of_seven_minutes_stays_on_its_phase_however_late_it_is_asked() -> None:
    anchor = at("2026-01-01T00:00:03")
    timetable = interval(every="7m", anchor=anchor.isoformat())
    rng, now, slots = Random(7), anchor, 0
    while now < at("2027-01-01"):
        slot = timetable.next(now)
        assert slot is not None
        assert (slot - anchor) % (7 * MINUTE) == timedelta(0)
        slots += 1
        # As after a restart, what is asked is built anew.
        timetable = interval(every=420, anchor="2026-01-01T00:00:03Z")
        now = slot + timedelta(seconds=rng.random() * 3)
    assert slots == 75_086
    assert timetable.count(anchor, now) == slots


def test_the_sixtieth_minute_is_an_hour_after_its_anchor() -> None:
    timetable = interval(every=60, anchor="2021-07-02T02:02:00Z")
    assert following(timetable, at("2021-07-02T02:02:00"), 60)[-1] == at("2021-07-02T03:02:00")


def test_a_week_survives_restarts_every_day() -> None:
    found = []
    for day in range(6, 22):
        now = at(f"2026-01-{day:02}T12:00")
        timetable = interval(every="7d", anchor="2026-01-05T00:00:00Z")
        found += within(timetable, now - timedelta(days=1), now)
    assert found == [at("2026-01-12"), at("2026-01-19")]


def test_an_anchor_is_a_phase_and_not_a_beginning() -> None:
    timetable = interval(every="1h", anchor="2030-01-01T00:20:00Z")
    assert timetable.next(at("2026-01-01")) == at("2026-01-01T00:20")
    later = interval(every="1h", anchor="2030-01-01T00:20:00Z", start="2030-01-01T00:20:00Z")
    assert later.next(at("2026-01-01")) == at("2030-01-01T00:20")
    assert later.previous(at("2030-01-01T00:20")) is None


def test_a_day_of_seconds_drifts_over_a_clock_change_and_a_day_of_the_calendar_does_not() -> None:
    after = at("2026-03-28T00:00")
    daily = interval("Europe/Berlin", every="1d", anchor="2026-03-27T09:00:00")
    assert following(daily, after, 3) == [at(f"2026-03-{day}T08:00") for day in (28, 29, 30)]
    by_clock = cron("0 9 * * *", "Europe/Berlin")
    assert following(by_clock, after, 3) == [
        at("2026-03-28T08:00"), at("2026-03-29T07:00"), at("2026-03-30T07:00"),
    ]  # fmt: skip
    assert following(interval("Europe/Berlin", months=1, anchor="2026-02-27T09:00:00"), after, 2) == [
        at("2026-04-27T07:00"), at("2026-05-27T07:00"),
    ]  # fmt: skip


@pytest.mark.parametrize(
    ("month_end", "expected"),
    [
        ("clamp", ["2027-12-31", "2028-01-31", "2028-02-29", "2028-03-31", "2028-04-30", "2028-05-31"]),
        ("skip", ["2027-12-31", "2028-01-31", "2028-03-31", "2028-05-31", "2028-07-31", "2028-08-31"]),
    ],
)
def test_the_31st_of_every_month(month_end: str, expected: list[str]) -> None:
    timetable = interval(months=1, anchor="2026-01-31T12:00:00Z", month_end=month_end)
    wanted = [at(day + "T12:00") for day in expected]
    assert following(timetable, at("2027-12-01"), 6) == wanted
    assert timetable.count(at("2027-12-01"), wanted[-1]) == 6
    assert [timetable.previous(slot) for slot in wanted[1:]] == wanted[:-1]


def test_the_29th_of_february_every_year() -> None:
    clamped = interval(months=12, anchor="2024-02-29T00:00:00Z")
    assert following(clamped, at("2025-01-01"), 4) == [
        at("2025-02-28"), at("2026-02-28"), at("2027-02-28"), at("2028-02-29"),
    ]  # fmt: skip
    skipped = interval(months=12, anchor="2024-02-29T00:00:00Z", month_end="skip")
    assert following(skipped, at("2094-01-01"), 2) == [at("2096-02-29"), at("2104-02-29")]
    assert skipped.previous(at("2104-02-29")) == at("2096-02-29")
    assert skipped.count(at("2024-02-29"), at("2104-02-29")) == 19


def test_months_count_from_the_anchor_in_both_directions() -> None:
    timetable = interval("Europe/Berlin", months=5, anchor="2025-10-29T02:30:00")
    # The clocks skip 02:30 on 29 March: the slot is the change itself.
    assert timetable.next(at("2025-10-29T02:30+01:00")) == at("2026-03-29T01:00")
    assert timetable.matches(at("2026-03-29T01:00"))
    assert timetable.previous(at("2026-03-29T01:00")) == at("2025-10-29T02:30+01:00")
    assert timetable.previous(at("2025-10-29T02:30+01:00")) == at("2025-05-29T02:30+02:00")
    assert timetable.next(at("2026-03-29T01:00")) == at("2026-08-29T02:30+02:00")
    assert not timetable.matches(at("2026-08-28T02:30+02:00"))


def test_a_period_after_the_end() -> None:
    timetable = interval(every="10m", **{"from": "last_end"})
    assert timetable.follows_end
    assert timetable.next(at("2026-01-01T00:03:20.5")) == at("2026-01-01T00:13:21")
    assert timetable.previous(at("2026-01-01")) is None
    assert timetable.count(at("2026-01-01"), at("2026-01-01T00:09:59")) == 0
    assert timetable.count(at("2026-01-01"), at("2027-01-01")) == 1
    assert not interval(every="10m").follows_end


@pytest.mark.parametrize(
    ("every", "seconds"),
    [
        (1, 1), (90.0, 90), ("90", 90), ("7m", 420), ("1h30m", 5400), ("1h 30m", 5400), ("2d", 172_800),
        ("1w", 604_800), ("PT90S", 90), ("P1DT2H", 93_600), ("p2w", 1_209_600), ("1e3", 1000),
    ],
)  # fmt: skip
def test_a_length_of_time_as_people_write_it(every: object, seconds: int) -> None:
    timetable = interval(every=every, anchor="2026-01-01T00:00:00Z")
    assert timetable.next(at("2026-01-01")) == at("2026-01-01") + timedelta(seconds=seconds)


@pytest.mark.parametrize(
    ("every", "code"),
    [
        (0, "INTERVAL_RANGE"), (-5, "INTERVAL_RANGE"), (0.0001, "INTERVAL_RANGE"), (1e12, "INTERVAL_RANGE"),
        ("9" * 60, "INTERVAL_RANGE"), ("1e300", "INTERVAL_RANGE"), (float("inf"), "INTERVAL_SYNTAX"),
        (float("nan"), "INTERVAL_SYNTAX"), (1.5, "INTERVAL_FRACTION"), ("abc", "INTERVAL_SYNTAX"),
        ("5x", "INTERVAL_SYNTAX"), ("P", "INTERVAL_SYNTAX"), ("PT", "INTERVAL_SYNTAX"), ("m", "INTERVAL_SYNTAX"),
        ("\u0665m", "INTERVAL_SYNTAX"), ("9" * 10_000, "INTERVAL_SYNTAX"), (True, "INTERVAL_SYNTAX"),
        ([60], "INTERVAL_SYNTAX"), ("P1M", "INTERVAL_MONTHS"), ("1 month", "INTERVAL_MONTHS"),
        ("", "CONFIG_MISSING"), (None, "CONFIG_MISSING"), ("1e400", "INTERVAL_RANGE"),
    ],
)  # fmt: skip
def test_no_length_of_time_is_refused(every: object, code: str) -> None:
    with pytest.raises(TimetableError) as refused:
        build("interval", {"every": every}, "UTC")
    assert refused.value.code == code
    assert refused.value.field == "every"
    assert refused.value.suggestion


def test_counting_costs_nothing_by_the_number(monkeypatch: pytest.MonkeyPatch) -> None:
    # A second's interval over a year, and a cron of every minute over fifty: neither is walked.
    def walked(*_: object) -> None:
        raise AssertionError

    second, minute = interval(every=1), cron("* * * * *", "Europe/Berlin")
    for timetable in (second, minute):
        monkeypatch.setattr(type(timetable), "next", walked)
    assert second.count(at("2026-01-01"), at("2027-01-01")) == 31_536_000
    assert minute.count(at("2026-01-01"), at("2027-01-01")) == 525_600
    assert minute.count(at("2001-01-01"), at("2051-01-01")) == 26_297_280
