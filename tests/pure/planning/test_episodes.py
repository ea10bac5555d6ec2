"""A catch-up over several rounds: what belongs to it, and when it ends."""

from datetime import timedelta

from scheduler.decisions import Cursor, Plan
from scheduler.planning import plan
from scheduler.policies import Policies
from scheduler.states import Misfire
from tests.pure.planning.hours import HOURLY, at, lines

LIMITED = Policies(Misfire.CATCH_UP_LIMITED, misfire_limit=2, catch_up_max=3)


def rounds(cursor: Cursor, now: str, policies: Policies = LIMITED) -> list[Plan]:
    """Until there is nothing to do at once."""
    plans = [plan(HOURLY, policies, cursor, at(now))]
    while plans[-1].next_due is not None and plans[-1].next_due <= at(now):
        plans.append(plan(HOURLY, policies, plans[-1].cursor, at(now)))
    return plans


def test_the_bound_of_an_episode_holds_over_its_rounds() -> None:
    first, second = rounds(Cursor(at("01:00")), "08:30")
    assert lines(first) == ["02:00 catch_up", "03:00 catch_up"]
    assert first.cursor.episode == 2
    assert lines(second) == ["04:00 catch_up", "05:00-08:00 x4 skipped: limit"]
    assert second.cursor.episode == 0


def test_the_next_outage_is_an_episode_of_its_own() -> None:
    cursor = rounds(Cursor(at("01:00")), "08:30")[-1].cursor
    cursor = plan(HOURLY, LIMITED, cursor, at("09:00")).cursor
    assert [lines(round_) for round_ in rounds(cursor, "12:30")] == [
        ["10:00 catch_up", "11:00 catch_up"],
        ["12:00 catch_up"],
    ]


def test_slots_on_time_are_no_part_of_an_episode() -> None:
    cursor = Cursor(at("01:00"))
    for hour in range(2, 12):
        round_ = plan(HOURLY, LIMITED, cursor, at(f"{hour:02}:00:02"))
        assert lines(round_) == [f"{hour:02}:00 live"]
        cursor = round_.cursor
        assert cursor.episode == 0


def test_an_episode_goes_on_while_slots_are_behind_whatever_becomes_due_meanwhile() -> None:
    first = plan(HOURLY, LIMITED, Cursor(at("01:00")), at("04:30"))
    later = plan(HOURLY, LIMITED, first.cursor, at("05:00:03"))
    assert lines(later) == ["04:00 catch_up", "05:00 live"]
    assert later.cursor.episode == 0


def test_an_episode_that_caught_up_with_the_present_is_over_though_a_slot_on_time_waits() -> None:
    policies = Policies(Misfire.CATCH_UP_LIMITED, misfire_limit=2)
    round_ = plan(HOURLY, policies, Cursor(at("01:00")), at("04:00"))
    assert lines(round_) == ["02:00 catch_up", "03:00 catch_up"]
    assert (round_.next_due, round_.cursor.episode) == (at("04:00"), 0)


def test_a_limit_beyond_sense_still_fires_a_bounded_number_a_round() -> None:
    policies = Policies(Misfire.CATCH_UP_LIMITED, misfire_limit=10**9, catch_up_window=timedelta(days=10_000))
    round_ = plan(HOURLY, policies, Cursor(at("00:00") - timedelta(days=1_000)), at("04:30"))
    assert len(round_.fires) == 1_000
    assert round_.next_due == at("04:30")
