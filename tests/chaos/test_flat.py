"""What counts as growth in a soak."""

from __future__ import annotations

import os

import pytest

from chaos.flat import FEWEST, Samples


def trend_of(unit: str, values: list[float]) -> bool:
    samples = Samples()
    samples.values["worker (1)", unit] = values
    (trend,) = samples.trends()
    return trend.flat


@pytest.mark.parametrize(
    ("unit", "values", "flat"),
    [
        ("MiB", [60.0] * 30, True),
        ("MiB", [40.0] * 10 + [80.0] * 20, True),  # warming up
        ("MiB", [60.0 + 4 * n for n in range(30)], False),
        ("open files", [20.0] * 20 + [40.0] * 10, False),
        ("connections", [18.0, 22.0, 20.0] * 10, True),
        ("connections", [float(n) for n in range(40)], False),
    ],
)
def test_only_what_goes_on_growing_grows(unit: str, values: list[float], flat: bool) -> None:
    assert trend_of(unit, values) is flat


def test_nothing_is_said_of_a_process_that_did_not_live_long_enough() -> None:
    samples = Samples()
    for _ in range(FEWEST - 1):
        samples.take({"me": os.getpid(), "gone": 2**22 - 1}, 3)
    assert samples.trends() == []
    samples.take({"me": os.getpid()}, 3)
    assert [trend.of.split()[0] for trend in samples.trends()] == ["PostgreSQL", "me", "me"]
