"""How lengths of time are written in log lines."""

import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from jobsplatform.kernel.durations import short


@pytest.mark.parametrize(
    ("milliseconds", "written"),
    [
        (0, "0ms"),
        (0.4, "0ms"),
        (12, "12ms"),
        (12.9, "12ms"),
        (999.99, "999ms"),
        (1000, "1.0s"),
        (1449, "1.4s"),
        (59_999, "59.9s"),
        (60_000, "1m00s"),
        (270_000, "4m30s"),
        (3_599_999, "59m59s"),
        (3_600_000, "1h00m"),
        (7_500_000, "2h05m"),
        (86_399_999, "23h59m"),
        (86_400_000, "1d00h"),
        (273_600_000, "3d04h"),
        (-5, "0ms"),
        (math.nan, "?"),
        (math.inf, "?"),
    ],
)
def test_lengths_are_short_and_never_rounded_up(milliseconds: float, written: str) -> None:
    assert short(milliseconds) == written


@given(st.floats(allow_nan=True, allow_infinity=True))
def test_any_number_gives_a_short_text(milliseconds: float) -> None:
    assert 1 <= len(short(milliseconds)) <= 320 and " " not in short(milliseconds)
