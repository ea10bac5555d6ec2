"""Start, end, dates that are left out, and jitter."""

from __future__ import annotations

from datetime import timedelta

import pytest

from scheduler.timetables import Run, TimetableError, build, zone
from tests.pure.timetables.moments import at, cron, following, interval, within


def test_a_start_and_an_end_are_both_included() -> None:
    timetable = cron("0 15 * * *", start="2026-05-01T15:00:00Z", end="2026-05-03T15:00:00Z")
    expected = [at(f"2026-05-0{day}T15:00") for day in (1, 2, 3)]
    assert following(timetable, at("2026-01-01"), 9) == expected
    assert timetable.previous(at("2027-01-01")) == expected[-1]
    assert timetable.previous(expected[0]) is None
    assert timetable.count(at("2020-01-01"), at("2030-01-01")) == 3
    assert not timetable.matches(at("2026-05-04T15:00"))
    assert timetable.next(expected[-1]) is None


def test_a_start_in_the_past_is_no_slot() -> None:
    timetable = cron("0 15 * * *", start="2026-05-01T13:58:00Z")
    assert timetable.next(at("2026-05-01T14:02")) == at("2026-05-01T15:00")


def test_a_start_without_an_offset_is_a_time_of_the_zone() -> None:
    timetable = cron("0 * * * *", "Asia/Tokyo", start="2026-05-01T09:00:00")
    assert timetable.next(at("2026-01-01")) == at("2026-05-01T00:00")


def test_dates_are_left_out_by_the_clock_of_the_zone() -> None:
    timetable = cron("0 */6 * * *", "Asia/Tokyo", exclude=["2026-05-02", "12-31"])
    slots = within(timetable, at("2026-05-01T14:00"), at("2026-05-02T22:00"))
    assert slots == [at("2026-05-02T15:00"), at("2026-05-02T21:00")]
    assert timetable.count(at("2026-05-01T14:00"), at("2026-05-02T22:00")) == 2
    assert timetable.count(at("2026-12-30T14:00"), at("2026-12-31T15:00")) == 1
    assert timetable.previous(at("2026-05-02T15:00")) == at("2026-05-01T09:00")
    assert not timetable.matches(at("2026-05-01T15:00"))


def test_what_is_left_out_is_told_by_the_date() -> None:
    timetable = interval(every=1, exclude=["2026-05-02", "2026-05-04", "05-10"])
    found = timetable.excluded(at("2026-05-01T12:00"), at("2026-05-04T00:01"))
    assert found == [
        Run(at("2026-05-02T00:00:00"), at("2026-05-02T23:59:59"), 86_400),
        Run(at("2026-05-04T00:00:00"), at("2026-05-04T00:01:00"), 61),
    ]
    assert timetable.excluded(at("2026-05-05"), at("2026-05-09")) == []
    assert interval(every=1).excluded(at("2026-05-01"), at("2026-05-04")) == []
    bounded = interval(every=1, exclude=["2026-05-02"], end="2026-05-02T00:00:09Z")
    assert bounded.excluded(at("2026-05-01"), at("2026-05-04")) == [
        Run(at("2026-05-02T00:00:00"), at("2026-05-02T00:00:09"), 10)
    ]


@pytest.mark.parametrize(("day", "out", "stretches"), [(28, 149, 2), (29, 145, 2)])
def test_a_date_that_the_clock_comes_back_to_is_left_out_whole(day: int, out: int, stretches: int) -> None:
    # At 00:01 of 29 October 1995 the clocks of St John's went back to 23:01 of the 28th.
    everything = cron("*/10 * * * *", "America/St_Johns")
    without = cron("*/10 * * * *", "America/St_Johns", exclude=[f"1995-10-{day}"])
    after, until = at("1995-10-27T12:00"), at("1995-10-31T12:00")
    tz = zone("America/St_Johns")
    kept = [slot for slot in within(everything, after, until) if slot.astimezone(tz).day != day]
    assert within(without, after, until) == kept
    assert without.count(after, until) == len(kept)
    runs = without.excluded(after, until)
    assert sum(run.count for run in runs) == everything.count(after, until) - len(kept) == out
    assert len(runs) == stretches
    back, slot = [], without.previous(until)
    while slot is not None and slot > after:
        back.append(slot)
        slot = without.previous(slot)
    assert back[::-1] == [slot for slot in kept if slot < until]


def test_every_date_of_every_year_is_refused() -> None:
    with pytest.raises(TimetableError) as refused:
        cron("0 0 1 1 *", exclude=["01-01"])
    assert refused.value.code == "EXCLUDE_ALL"
    days = [
        f"{month:02}-{day:02}"
        for month in range(1, 13)
        for day in range(1, 32)
        if day < 29 or (month, day) < (2, 1)
    ]
    assert cron("0 0 * * *", exclude=days).next(at("2026-02-01")) == at("2026-03-29")


def test_a_thousand_dates_in_a_row_are_passed_over() -> None:
    first = at("2026-01-01")
    days = [(first + timedelta(days=number)).date().isoformat() for number in range(1000)]
    timetable = cron("* * * * *", exclude=days)
    assert timetable.next(first) == first + timedelta(days=1000)
    assert timetable.previous(first + timedelta(days=1000)) == first - timedelta(minutes=1)
    alternate = cron("0 0 * * *", exclude=days[::2])
    assert following(alternate, first, 2) == [first + timedelta(days=1), first + timedelta(days=3)]


def test_jitter_is_the_same_everywhere_and_never_reaches_the_next_slot() -> None:
    timetable = build("cron", {"cron": "*/2 * * * *", "jitter_seconds": 600}, "UTC", schedule_id="a")
    later = set()
    for slot in following(timetable, at("2026-01-01"), 300):
        due = timetable.due(slot)
        following_one = timetable.next(slot)
        assert following_one is not None and slot <= due < following_one
        later.add((due - slot).seconds)
    assert len(later) > 80 and max(later) > 100
    # These instants must never change.
    assert timetable.due(at("2026-01-01T00:02")) == at("2026-01-01T00:02:55")
    other = build(
        "cron", {"cron": "*/2 * * * *", "jitter_seconds": 600}, "UTC", schedule_id="a", tenant_id="t"
    )
    slots = following(timetable, at("2026-01-01"), 50)
    assert sum(timetable.due(slot) != other.due(slot) for slot in slots) > 40


def test_a_thousand_tenants_are_spread_over_the_jitter() -> None:
    slot = at("2026-01-01T02:00")
    seconds = [0] * 600
    for number in range(1000):
        timetable = build(
            "cron",
            {"cron": "0 2 * * *", "jitter_seconds": 599},
            "UTC",
            schedule_id="a",
            tenant_id=f"{number}",
        )
        seconds[(timetable.due(slot) - slot).seconds] += 1
    assert max(seconds) <= 9
    assert max(sum(seconds[start : start + 60]) for start in range(0, 600, 60)) < 200


def test_the_last_slot_has_jitter_too() -> None:
    once = build("date", {"at": "2026-01-01T00:00:00Z", "jitter_seconds": 30}, "UTC", schedule_id="b")
    assert at("2026-01-01") <= once.due(at("2026-01-01")) <= at("2026-01-01T00:00:30")
