"""The work of a fired slot: without holes and overlaps where a policy makes up for what was missed."""

import pytest

from scheduler.decisions import Cursor
from scheduler.planning import plan
from scheduler.policies import Policies
from scheduler.states import Misfire
from tests.pure.planning.hours import HOURLY, at, planned
from tests.pure.planning.timetables import Listed


def windows(*plans: object) -> list[tuple[str, str]]:
    return [
        (f"{fire.window_start:%H:%M}", f"{fire.planned_at:%H:%M}")
        for plan in plans
        for fire in plan.fires  # type: ignore[attr-defined]
    ]


@pytest.mark.parametrize("misfire", [Misfire.RUN_ONCE, Misfire.CATCH_UP_LIMITED])
def test_windows_touch_over_an_outage(misfire: Misfire) -> None:
    policies = Policies(misfire, misfire_limit=2)
    cursor, seen = Cursor(at("01:00"), last_fired_at=at("01:00")), []
    for now in ["02:00", "06:30", "06:30", "06:30", "07:00:01"]:
        round_ = plan(HOURLY, policies, cursor, at(now))
        seen += windows(round_)
        cursor = round_.cursor
    assert seen[0] == ("01:00", "02:00")
    assert seen[-1][1] == "07:00"
    assert [end for _, end in seen[:-1]] == [start for start, _ in seen[1:]]


def test_run_once_does_the_work_of_all_that_it_took_in() -> None:
    state = {"last_fired_at": at("01:00")}
    assert windows(planned("run_once", "01:00", "04:30", state=state)) == [("01:00", "04:00")]


def test_a_dropped_or_skipped_stretch_is_part_of_the_next_window() -> None:
    state = {"last_fired_at": at("01:00"), "dropped_until": at("03:00")}
    assert windows(planned("run_once", "01:00", "04:30", state=state)) == [("01:00", "04:00")]


def test_the_first_window_begins_at_the_slot_before_the_first_undecided_one() -> None:
    assert windows(planned("run_once", "01:30", "04:30")) == [("01:00", "04:00")]
    assert windows(planned("catch_up_limited", "01:30", "03:30")) == [("01:00", "02:00"), ("02:00", "03:00")]


def test_under_skip_each_slot_does_its_own_period_only() -> None:
    state = {"last_fired_at": at("01:00")}
    assert windows(planned("skip", "01:00", "04:00:03", state=state)) == [("03:00", "04:00")]


def test_the_very_first_slot_has_an_open_window() -> None:
    timetable = Listed([at("02:00")])
    for misfire in Misfire:
        (fire,) = planned(misfire, "01:00", "02:00", timetable=timetable).fires
        assert fire.window_start is None
