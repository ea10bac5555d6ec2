"""What a handler may ask for."""

import math
from datetime import timedelta
from typing import Any

import pytest

from tasks.outcomes import Deferred, JobCancelled, LeaseLost, Retry, Snooze


def test_lengths_are_seconds_or_timedeltas() -> None:
    assert Retry().after is None
    assert Retry(5).after == 5.0
    assert Retry(timedelta(minutes=1)).after == 60.0
    assert Snooze(0).seconds == 0.0
    assert Deferred(timedelta(hours=1)).deadline == 3600.0


@pytest.mark.parametrize(
    "length", [-1, math.nan, math.inf, 1e308, "5", True, None, timedelta(days=-1), 10**400]
)
@pytest.mark.parametrize("make", [Snooze, Deferred])
def test_lengths_that_make_no_sense_are_refused_in_the_handler(make: Any, length: Any) -> None:
    with pytest.raises(ValueError, match="takes"):
        make(length)


def test_no_broad_except_swallows_a_cancel_or_a_lost_lease() -> None:
    assert not issubclass(JobCancelled, Exception)
    assert not issubclass(LeaseLost, Exception)
