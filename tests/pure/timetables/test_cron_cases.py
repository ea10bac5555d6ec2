"""Cron expressions by hand: what they fire at, and what is refused how."""

from __future__ import annotations

import pytest

from scheduler.timetables import TimetableError, build, normalise
from tests.pure.timetables.cases import REFUSED, SLOTS
from tests.pure.timetables.moments import at, cron, following


@pytest.mark.parametrize(("about", "text", "zone", "after", "expected"), SLOTS)
def test_the_slots_of_an_expression(
    about: str, text: str, zone: str, after: str, expected: list[str]
) -> None:
    timetable = cron(text, zone)
    wanted = [at(slot) for slot in expected]
    assert following(timetable, at(after), len(wanted)) == wanted
    assert all(timetable.matches(slot) for slot in wanted)
    assert timetable.count(at(after), wanted[-1]) == len(wanted)


@pytest.mark.parametrize(("about", "text", "zone", "after", "expected"), SLOTS)
def test_the_slots_of_an_expression_backwards(
    about: str, text: str, zone: str, after: str, expected: list[str]
) -> None:
    timetable = cron(text, zone)
    wanted = [at(slot) for slot in expected]
    back = [timetable.previous(slot) for slot in wanted[1:]]
    assert back == wanted[:-1]


@pytest.mark.parametrize(("text", "code", "field"), REFUSED)
def test_what_is_no_expression_is_refused_with_a_correction(text: str, code: str, field: str) -> None:
    with pytest.raises(TimetableError) as refused:
        build("cron", {"cron": text}, "UTC")
    error = refused.value
    assert (error.code, error.field) == (code, field)
    assert error.read and error.suggestion and "\n" not in str(error)
    with pytest.raises(TimetableError) as again:
        normalise("cron", {"cron": text}, "UTC")
    assert again.value.code == code


@pytest.mark.parametrize(
    ("text", "suggestion"),
    [
        ("0 22-2 * * *", "22-23,0-2"),
        ("0 0 * * FRI-SUN", "5-7"),
        ("0 0 ? * 1", "Write *"),
        ("0 0 * * L5", "5L"),
        ("0 0 * * MONDAY", "Write MON"),
        ("0 0 0 * *", "The first day-of-month is 1"),
        ("0 24 * * *", "Write 0"),
        ("*/60 * * * *", "Write 0 for once"),
        ("* * * * * *", "every 30s"),
        ("CRON_TZ=UTC 0 0 * * *", "leave it out"),
        ("@every 5m", "interval"),
        ("@dayly", "@daily"),
    ],
)
def test_the_correction_says_what_to_write(text: str, suggestion: str) -> None:
    with pytest.raises(TimetableError) as refused:
        cron(text)
    assert suggestion in refused.value.suggestion


@pytest.mark.parametrize(
    ("text", "numbers"),
    [
        ("5/15 * * * *", "5-59/15 * * * *"),
        ("0 0 * * 1/2", "0 0 * * 1-6/2"),
        ("@Daily", "0 0 * * *"),
        ("05 08 * jan MON-fri", "5 8 * 1 1-5"),
        ("0 0 L * SUN#1,7L", "0 0 L * 0#1,0L"),
    ],
)
def test_an_expression_is_shown_in_numbers(text: str, numbers: str) -> None:
    assert cron(text).expression == numbers


@pytest.mark.parametrize(
    ("text", "stored"),
    [
        ("\t 5/15   * * * * ", "5-59/15 * * * *"),
        ("@Daily ", "@daily"),
        ("05 08 * jan mon-Fri", "5 8 * JAN MON-FRI"),
        ("H h(0-7) * * *", "H H(0-7) * * *"),
        ("0 0 l * sun#1,7l", "0 0 L * SUN#1,7L"),
    ],
)
def test_an_expression_is_stored_as_it_was_meant(text: str, stored: str) -> None:
    assert normalise("cron", {"cron": text}, "UTC") == {"cron": stored}
    assert normalise("cron", {"cron": stored}, "UTC") == {"cron": stored}


def test_a_time_that_the_clocks_always_skip_is_refused() -> None:
    # In New York they are set forward on the second Sunday of March, at 02:00.
    assert cron("30 2 * 3 0#2", "America/New_York").next(at("2026-01-01")) == at("2026-03-08T07:00:00")
    with pytest.raises(TimetableError) as refused:
        cron("30 2 * 3 0#2", "America/New_York", gap="skip")
    assert refused.value.code == "CRON_NEVER"
    assert "at_transition" in refused.value.suggestion


def test_a_leap_day_is_found_across_a_year_that_has_none() -> None:
    timetable = cron("0 0 29 2 *")
    assert timetable.next(at("2096-02-29")) == at("2104-02-29")
    assert timetable.previous(at("2104-02-29")) == at("2096-02-29")
    # And on a Saturday or Sunday only: such years lie up to forty years apart.
    weekend = cron("0 0 29 2 */6")
    assert following(weekend, at("2020-03-01"), 2) == [at("2032-02-29"), at("2048-02-29")]


def test_a_leap_day_on_one_weekday_returns_after_forty_years() -> None:
    # A fifth Monday in February.
    timetable = cron("0 0 * 2 1#5")
    assert timetable.next(at("2072-03-01")) == at("2112-02-29")
    assert timetable.previous(at("2112-02-29")) == at("2072-02-29")


def test_the_second_pass_of_a_date_that_comes_once_a_year_is_not_passed_over() -> None:
    timetable = cron("30 2 25 10 *", "Europe/Berlin", fold="both")
    expected = [at("2026-10-25T00:30"), at("2026-10-25T01:30"), at("2027-10-25T00:30")]
    assert following(timetable, at("2026-01-01"), 3) == expected
    assert [timetable.previous(slot) for slot in expected[1:]] == expected[:2]


@pytest.mark.parametrize(
    ("gap", "expected"),
    [
        ("", ["2026-03-28T01:30", "2026-03-29T01:00", "2026-03-30T00:30"]),
        ("at_transition", ["2026-03-28T01:30", "2026-03-29T01:00", "2026-03-30T00:30"]),
        ("skip", ["2026-03-28T01:30", "2026-03-30T00:30"]),
        ("shift", ["2026-03-28T01:30", "2026-03-29T01:30", "2026-03-30T00:30"]),
    ],
)
def test_a_skipped_time_by_each_rule(gap: str, expected: list[str]) -> None:
    slots = following(cron("30 2 * * *", "Europe/Berlin", gap=gap), at("2026-03-27T12:00"), len(expected))
    assert slots == [at(slot) for slot in expected]


@pytest.mark.parametrize(
    ("fold", "expected"),
    [
        ("", ["2026-10-25T00:30", "2026-10-26T01:30"]),
        ("first", ["2026-10-25T00:30", "2026-10-26T01:30"]),
        ("last", ["2026-10-25T01:30", "2026-10-26T01:30"]),
        ("both", ["2026-10-25T00:30", "2026-10-25T01:30", "2026-10-26T01:30"]),
    ],
)
def test_a_repeated_time_by_each_rule(fold: str, expected: list[str]) -> None:
    slots = following(cron("30 2 * * *", "Europe/Berlin", fold=fold), at("2026-10-24T12:00"), len(expected))
    assert slots == [at(slot) for slot in expected]


@pytest.mark.parametrize(
    ("gap", "fold", "spring", "autumn"),
    [("", "", 2, 4), ("at_transition", "first", 2, 2), ("shift", "last", 2, 2), ("skip", "both", 2, 4)],
)
def test_a_rule_that_is_chosen_holds_for_stars_too(gap: str, fold: str, spring: int, autumn: int) -> None:
    timetable = cron("*/30 * * * *", "Europe/Berlin", gap=gap, fold=fold)
    # What the gap left out falls together with the slots at 03:00 and 03:30, and is one slot with each.
    assert timetable.count(at("2026-03-29T00:59"), at("2026-03-29T01:59")) == spring
    assert timetable.count(at("2026-10-24T23:59"), at("2026-10-25T01:59")) == autumn


def test_hashed_fields_are_the_same_for_ever_and_differ_by_schedule() -> None:
    # These numbers must never change: they would move the runs of everybody.
    assert build("cron", {"cron": "H H * * *"}, "UTC", schedule_id="a").expression == "3 5 * * *"
    hashed = "14-59/15 0 20 * 4"
    assert build("cron", {"cron": "H/15 H(0-7) H * H"}, "UTC", schedule_id="nightly").expression == hashed
    pairs = {
        build("cron", {"cron": "H H * * *"}, "UTC", schedule_id=f"schedule-{n}").expression
        for n in range(300)
    }
    assert len(pairs) > 230
    minutes = [int(pair.split()[0]) for pair in pairs]
    assert 20 < sum(minutes) / len(minutes) < 40


def test_hashed_fields_stay_in_their_range() -> None:
    for n in range(200):
        minute, hour, day, month, weekday = build(
            "cron", {"cron": "H(10-19) H(0-7)/3 H H H"}, "UTC", schedule_id=f"{n}"
        ).expression.split()
        assert 10 <= int(minute) <= 19
        assert hour in {"0-7/3", "1-7/3", "2-7/3"}
        narrow = build("cron", {"cron": "H(0-2)/10 0 * * *"}, "UTC", schedule_id=f"{n}").expression
        assert narrow.split()[0] in {"0-2/10", "1-2/10", "2"}
        assert 1 <= int(day) <= 28 and 1 <= int(month) <= 12 and 0 <= int(weekday) <= 6


def test_thursday_is_not_hashed() -> None:
    assert cron("0 0 * * THU").next(at("2026-01-01T12:00")) == at("2026-01-08")
