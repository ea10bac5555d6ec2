"""What counts as growth in a soak."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from chaos.errors import CannotRun
from chaos.flat import FEWEST, Samples, Trend
from chaos.soak import Soak, write


def trend_of(unit: str, values: list[float]) -> Trend:
    samples = Samples()
    samples.values["worker (1)", unit] = [(60.0 * n, value) for n, value in enumerate(values)]
    (trend,) = samples.trends()
    return trend


@pytest.mark.parametrize(
    ("unit", "values", "flat"),
    [
        ("MiB", [60.0] * 30, True),
        ("MiB", [40.0] * 10 + [80.0] * 20, True),  # warming up
        ("MiB", [60.0 + 2 * n for n in range(30)], False),
        ("open files", [20.0] * 20 + [40.0] * 10, False),
        ("connections", [18.0, 22.0, 20.0] * 10, True),
        ("connections", [float(n) for n in range(40)], False),
    ],
)
def test_only_what_goes_on_growing_grows(unit: str, values: list[float], flat: bool) -> None:
    assert trend_of(unit, values).flat is flat


def test_the_slope_is_told_by_the_hour() -> None:
    # One more each minute.
    trend = trend_of("open files", [float(n) for n in range(30)])
    assert trend.per_hour == pytest.approx(60)
    assert "+60.0 an hour, 30 samples): GROWS" in str(trend)
    assert trend.facts()["flat"] is False


def test_nothing_is_said_of_a_process_that_did_not_live_long_enough() -> None:
    samples = Samples()
    for n in range(FEWEST - 1):
        samples.take(n, {"me": os.getpid(), "gone": 2**22 - 1}, {"PostgreSQL": 3})
    assert samples.trends() == []
    samples.take(FEWEST, {"me": os.getpid()}, {"PostgreSQL": 3})
    assert {(trend.of.split()[0], trend.unit) for trend in samples.trends()} >= {
        ("PostgreSQL", "connections"), ("me", "MiB"), ("me", "open files"),
    }  # fmt: skip


def test_a_soak_of_which_nothing_can_be_said_says_so() -> None:
    soaked = Soak("here and now")
    assert "Growth was not measured" in soaked.text()
    soaked.trends.append(trend_of("MiB", [60.0] * 30))
    assert "Growth was not measured" not in soaked.text()
    assert soaked.holds
    soaked.trends.append(trend_of("MiB", [60.0 + 2 * n for n in range(30)]))
    assert not soaked.holds
    assert soaked.facts()["holds"] is False


def test_the_result_goes_between_its_marks(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    page = tmp_path / "chaos.md"
    monkeypatch.setattr("chaos.soak.PAGE", page)
    page.write_text("before\n<!-- soak -->\nold\n<!-- /soak -->\nafter\n")
    write("new")
    assert page.read_text() == "before\n<!-- soak -->\n\nnew\n\n<!-- /soak -->\nafter\n"
    page.write_text("no marks")
    with pytest.raises(CannotRun, match="no place"):
        write("new")
