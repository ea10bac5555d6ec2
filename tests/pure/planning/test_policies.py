"""Misfire policy x downtime x state, as tables. Hourly at :00 unless a row says otherwise."""

from datetime import timedelta
from typing import Any

import pytest

from tests.pure.planning.hours import at, lines, planned
from tests.pure.planning.timetables import Listed

INTO_FOUR = "coalesced: coalesced into 2026-03-02T04:00:00Z"
HOUR = timedelta(hours=1)


@pytest.mark.parametrize(
    ("misfire", "more", "since", "now", "rows", "reached", "due"),
    [
        # nothing to decide
        ("skip", {}, "04:00", "04:00", [], "04:00", "05:00"),
        ("run_once", {}, "04:00", "04:59:59", [], "04:00", "05:00"),
        ("catch_up_limited", {}, "04:10", "04:20", [], "04:10", "05:00"),
        # on time, to the second and at the very end of the grace time
        ("skip", {}, "03:00", "04:00", ["04:00 live"], "04:00", "05:00"),
        ("skip", {}, "03:00", "04:00:08", ["04:00 live"], "04:00", "05:00"),
        ("run_once", {}, "03:00", "04:00:08", ["04:00 live"], "04:00", "05:00"),
        ("catch_up_limited", {}, "03:00", "04:00:08", ["04:00 live"], "04:00", "05:00"),
        # a second later it is late
        ("skip", {}, "03:00", "04:00:09", ["04:00 skipped: misfire"], "04:00", "05:00"),
        ("run_once", {}, "03:00", "04:00:09", ["04:00 catch_up"], "04:00", "05:00"),
        ("catch_up_limited", {}, "03:00", "04:00:09", ["04:00 catch_up"], "04:00", "05:00"),
        # down for some slots
        ("skip", {}, "01:00", "04:30", ["02:00-04:00 x3 skipped: misfire"], "04:00", "05:00"),
        ("run_once", {}, "01:00", "04:30", [f"02:00-03:00 x2 {INTO_FOUR}", "04:00 catch_up"], "04:00", "05:00"),
        (
            "catch_up_limited", {"misfire_limit": 2}, "01:00", "04:30",
            ["02:00 catch_up", "03:00 catch_up"], "03:00", "04:30",
        ),
        ("catch_up_limited", {"misfire_limit": 2}, "03:00", "04:30", ["04:00 catch_up"], "04:00", "05:00"),
        (
            "catch_up_limited", {"misfire_limit": 2, "catch_up_max": 2}, "01:00", "04:30",
            ["02:00 catch_up", "03:00 catch_up", "04:00 skipped: limit"], "04:00", "05:00",
        ),
        (
            "catch_up_limited", {"misfire_limit": 9, "catch_up_max": 0}, "01:00", "04:30",
            ["02:00-04:00 x3 skipped: limit"], "04:00", "05:00",
        ),
        # down, and back in time for the last one
        (
            "skip", {}, "01:00", "04:00:05",
            ["02:00-03:00 x2 skipped: misfire", "04:00 live"], "04:00", "05:00",
        ),
        ("run_once", {}, "01:00", "04:00:05", [f"02:00-03:00 x2 {INTO_FOUR}", "04:00 live"], "04:00", "05:00"),
        (
            "catch_up_limited", {"misfire_limit": 5, "catch_up_max": 1}, "01:00", "04:00:05",
            ["02:00 catch_up", "03:00 skipped: limit", "04:00 live"], "04:00", "05:00",
        ),
        # a grace time of hours holds several slots, and each fires
        (
            "skip", {"grace": HOUR * 2}, "01:00", "04:30",
            ["02:00 skipped: misfire", "03:00 live", "04:00 live"], "04:00", "05:00",
        ),
        ("run_once", {"grace": HOUR * 2}, "02:00", "04:00", [f"03:00 {INTO_FOUR}", "04:00 live"], "04:00", "05:00"),
        # what is older than the window expires, to the second
        (
            "catch_up_limited", {"catch_up_window": HOUR * 2, "misfire_limit": 5}, "00:00", "04:00",
            ["01:00 expired: catch-up window", "02:00 catch_up", "03:00 catch_up", "04:00 live"], "04:00", "05:00",
        ),
        (
            "catch_up_limited", {"catch_up_window": HOUR * 2}, "00:00", "04:00:01",
            ["01:00-02:00 x2 expired: catch-up window", "03:00 catch_up", "04:00 live"], "04:00", "05:00",
        ),
        (
            "catch_up_limited", {"catch_up_window": timedelta(0)}, "00:00", "04:30",
            ["01:00-04:00 x4 expired: catch-up window"], "04:00", "05:00",
        ),
    ],
)  # fmt: skip
def test_downtime(
    misfire: str, more: dict[str, Any], since: str, now: str, rows: list[str], reached: str, due: str
) -> None:
    plan = planned(misfire, since, now, **more)
    assert lines(plan) == rows
    assert plan.cursor.last_planned_at == at(reached)
    assert plan.next_due == at(due)


@pytest.mark.parametrize(
    ("misfire", "more", "state", "rows"),
    [
        # the end of a pause drops what lay in it, and only that
        (
            "skip", {}, {"dropped_until": at("03:30")},
            ["02:00-03:00 x2 paused: paused", "04:00 skipped: misfire"],
        ),
        ("run_once", {}, {"dropped_until": at("03:00")}, ["02:00-03:00 x2 paused: paused", "04:00 catch_up"]),
        ("run_once", {}, {"dropped_until": at("04:30")}, ["02:00-04:00 x3 paused: paused"]),
        (
            "catch_up_limited", {}, {"dropped_until": at("02:59:59")},
            ["02:00 paused: paused", "03:00 catch_up", "04:00 catch_up"],
        ),
        # a slot that somebody wants skipped
        (
            "run_once", {}, {"skips": frozenset([at("04:00")])},
            [
                "02:00 coalesced: coalesced into 2026-03-02T03:00:00Z", "03:00 catch_up",
                "04:00 skipped: skipped once",
            ],
        ),
        (
            "skip", {}, {"skips": frozenset([at("03:00")])},
            ["02:00 skipped: misfire", "03:00 skipped: skipped once", "04:00 skipped: misfire"],
        ),
        (
            "catch_up_limited", {}, {"skips": frozenset([at("02:00"), at("04:00")])},
            ["02:00 skipped: skipped once", "03:00 catch_up", "04:00 skipped: skipped once"],
        ),
        (
            "run_once", {}, {"skips": frozenset([at("02:00"), at("03:00"), at("04:00")])},
            ["02:00-04:00 x3 skipped: skipped once"],
        ),
        ("run_once", {}, {"skips": frozenset([at("02:30")])}, [f"02:00-03:00 x2 {INTO_FOUR}", "04:00 catch_up"]),
        # the runs that are left
        ("run_once", {"max_runs": 3}, {"fired": 2}, [f"02:00-03:00 x2 {INTO_FOUR}", "04:00 catch_up"]),
        ("run_once", {"max_runs": 3}, {"fired": 3}, []),
        ("skip", {"max_runs": 3, "grace": HOUR * 9}, {"fired": 1}, ["02:00 live", "03:00 live"]),
        ("catch_up_limited", {"max_runs": 1}, {}, ["02:00 catch_up"]),
        # an episode that is under way
        ("catch_up_limited", {"catch_up_max": 4}, {"episode": 3}, ["02:00 catch_up", "03:00-04:00 x2 skipped: limit"]),
        ("catch_up_limited", {"catch_up_max": 4}, {"episode": 4}, ["02:00-04:00 x3 skipped: limit"]),
    ],
)  # fmt: skip
def test_state(misfire: str, more: dict[str, Any], state: dict[str, Any], rows: list[str]) -> None:
    assert lines(planned(misfire, "01:00", "04:30", state=state, **more)) == rows


@pytest.mark.parametrize("misfire", ["skip", "run_once", "catch_up_limited"])
def test_excluded_dates_are_noted_between_the_others(misfire: str) -> None:
    slots = [at("02:00"), at("03:00"), at("04:00")]
    timetable = Listed(slots, taken_out=[at("03:00")])
    rows = lines(planned(misfire, "01:00", "04:00", timetable=timetable, grace=HOUR * 9))
    assert rows[-2:] == ["03:00 excluded: excluded date", "04:00 live"]


def test_an_excluded_slot_is_noted_when_it_comes_not_with_the_next_one() -> None:
    timetable = Listed([at("02:00"), at("03:00"), at("09:00")], taken_out=[at("03:00")])
    plan = planned("skip", "01:00", "02:00", timetable=timetable)
    assert (plan.next_due, plan.next_slot) == (at("03:00"), at("09:00"))
    assert lines(planned("skip", "02:00", "03:00", timetable=timetable)) == ["03:00 excluded: excluded date"]


def test_the_last_slots_may_be_excluded_ones() -> None:
    timetable = Listed([at("02:00"), at("03:00")], taken_out=[at("03:00")])
    assert planned("skip", "01:00", "02:00", timetable=timetable).next_due == at("03:00")
    assert planned("skip", "02:00", "03:00", timetable=timetable).next_due is None


def test_the_next_slot_to_read_is_one_that_will_fire() -> None:
    plan = planned("skip", "01:00", "01:30", state={"skips": frozenset([at("02:00")])})
    assert (plan.next_due, plan.next_slot) == (at("02:00"), at("03:00"))
    assert plan.cursor.skips == {at("02:00")}
    assert not planned("skip", "01:00", "02:30", state={"skips": frozenset([at("02:00")])}).cursor.skips


def test_nothing_is_planned_after_the_last_of_all_runs() -> None:
    plan = planned("catch_up_limited", "01:00", "04:30", max_runs=2)
    assert lines(plan) == ["02:00 catch_up", "03:00 catch_up"]
    assert (plan.next_due, plan.next_slot) == (None, None)
    assert (plan.cursor.last_planned_at, plan.cursor.fired) == (at("03:00"), 2)


def test_a_timetable_without_further_slots_is_not_looked_at_again() -> None:
    timetable = Listed([at("02:00")])
    assert planned("skip", "01:00", "01:30", timetable=timetable).next_due == at("02:00")
    assert planned("skip", "01:00", "02:00", timetable=timetable).next_due is None


def test_part_of_a_second_makes_no_slot_late_or_early() -> None:
    early = planned("skip", "01:00", "01:59:59.999999")
    assert (lines(early), early.next_due) == ([], at("02:00"))
    assert lines(planned("skip", "01:00", "02:00:08.000001")) == ["02:00 skipped: misfire"]
    assert lines(planned("skip", "01:59:59.999999", "02:00:00.000001")) == ["02:00 live"]


@pytest.mark.parametrize(
    ("misfire", "rows"),
    [
        ("skip", ["02:00 skipped: misfire", "04:00 skipped: misfire"]),
        ("run_once", [f"02:00 {INTO_FOUR}", "04:00 catch_up"]),
        ("catch_up_limited", ["02:00 catch_up", "04:00 catch_up"]),
    ],
)
def test_a_slot_that_somebody_triggered_by_name_is_not_decided_again(misfire: str, rows: list[str]) -> None:
    state = {"decided": ((at("03:00"), at("03:00")),)}
    assert lines(planned(misfire, "01:00", "04:30", state=state)) == rows


def test_the_newest_slot_may_be_on_record_already() -> None:
    state = {"decided": ((at("03:00"), at("04:00")),)}
    plan = planned("run_once", "01:00", "04:30", state=state)
    assert lines(plan) == ["02:00 catch_up"]
    assert plan.cursor.last_planned_at == at("04:00")


def test_a_clock_that_went_back_fires_what_nobody_decided_yet() -> None:
    """From 17:00 back to 15:01, with 16:00 and 17:00 on record: 16:00 stays out, what lies between does not."""
    timetable = Listed([at("15:30"), at("16:00"), at("16:30"), at("17:00"), at("17:30")])
    state = {"decided": ((at("16:00"), at("16:00")), (at("17:00"), at("17:00")))}
    seen = []
    cursor_at = "15:01"
    for now in ["15:30", "16:00", "16:30", "17:00", "17:30"]:
        seen += lines(planned("skip", cursor_at, now, timetable=timetable, state=state))
        cursor_at = now
    assert seen == ["15:30 live", "16:30 live", "17:30 live"]


def test_a_pause_that_ends_within_a_second_takes_no_slot_after_it() -> None:
    plan = planned("run_once", "01:30", "04:00", state={"dropped_until": at("03:59:59.600000")})
    assert lines(plan) == ["02:00-03:00 x2 paused: paused", "04:00 live"]
