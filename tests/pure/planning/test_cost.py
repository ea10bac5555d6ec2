"""A decision costs what fires, not what was missed: counted in questions to the timetable."""

from datetime import timedelta

import pytest

from scheduler.decisions import Cursor
from scheduler.planning import plan
from scheduler.policies import Policies
from scheduler.states import Misfire
from tests.pure.planning.hours import at
from tests.pure.planning.timetables import Every

NOW = at("12:00")
YEAR = timedelta(days=365)
SECONDS = int(YEAR.total_seconds())
# Some questions for each range and each slot that fires.
FEW = 8


@pytest.mark.parametrize(
    ("policies", "fires", "ranges"),
    [
        (Policies(Misfire.SKIP), 9, [SECONDS - 9]),
        (Policies(Misfire.RUN_ONCE), 1, [SECONDS - 1]),
        (
            Policies(Misfire.CATCH_UP_LIMITED, misfire_limit=10, catch_up_max=10, catch_up_window=YEAR * 2),
            10,
            [SECONDS - 10 - 9],
        ),
        (Policies(Misfire.CATCH_UP_LIMITED, misfire_limit=10), 10, [SECONDS - 86_401]),
        (
            Policies(Misfire.CATCH_UP_LIMITED, misfire_limit=10, catch_up_window=timedelta(0)),
            1,
            [SECONDS - 1],
        ),
    ],
)
def test_every_second_and_down_for_a_year(policies: Policies, fires: int, ranges: list[int]) -> None:
    every_second = Every(timedelta(seconds=1))
    round_ = plan(every_second, policies, Cursor(NOW - YEAR), NOW)
    assert len(round_.fires) == fires
    assert [row.count for row in round_.decisions] == ranges
    assert every_second.asked <= FEW * (1 + fires + len(ranges))


def test_a_year_of_pause_is_one_row() -> None:
    every_second = Every(timedelta(seconds=1))
    cursor = Cursor(NOW - YEAR, dropped_until=NOW)
    round_ = plan(every_second, Policies(Misfire.SKIP), cursor, NOW)
    assert [(row.status, row.count) for row in round_.decisions] == [("paused", SECONDS)]
    assert every_second.asked <= 2 * FEW


def test_a_slot_on_time_asks_as_little_after_a_year_as_after_a_minute() -> None:
    asked = []
    for age in (timedelta(minutes=1), YEAR):
        timetable = Every(timedelta(minutes=1), anchor=NOW - age)
        plan(timetable, Policies(Misfire.SKIP), Cursor(NOW - timedelta(minutes=1)), NOW)
        asked.append(timetable.asked)
    assert asked[0] == asked[1]
    assert asked[0] <= FEW
