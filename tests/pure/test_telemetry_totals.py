"""Totals of ended runs: bounded, and the same after a round trip through JSON."""

import json
from datetime import UTC, datetime, timedelta

import pytest
from hypothesis import given
from hypothesis import strategies as st

from jobsplatform.telemetry.totals import BOUNDS, MOST_TYPES, OTHER, Histogram, Run, Totals, priority_class

START = datetime(2026, 1, 1, tzinfo=UTC)


def run(
    seconds: float = 1.0, waited: float = 0.0, job_type: str = "a", outcome: str = "complete", **more: object
) -> Run:
    return Run(
        job_type,
        100,
        outcome,
        START,
        START + timedelta(seconds=seconds),
        START - timedelta(seconds=waited),
        **more,  # type: ignore[arg-type]
    )


@pytest.mark.parametrize(
    ("priority", "name"),
    [(-5, "background"), (0, "background"), (99, "background"), (100, "normal"), (999, "normal"),
     (1000, "user_action"), (5000, "urgent"), (9999, "urgent")],
)  # fmt: skip
def test_any_priority_has_a_named_class(priority: int, name: str) -> None:
    assert priority_class(priority) == name


@given(st.lists(st.floats(min_value=0, max_value=1e6)))
def test_a_histogram_counts_everything_once(seconds: list[float]) -> None:
    histogram = Histogram()
    for value in seconds:
        histogram.observe(value)
    cumulative = histogram.cumulative()
    assert cumulative[-1] == ("+Inf", len(seconds))
    for (bound, count), limit in zip(cumulative, BOUNDS, strict=False):
        assert bound == str(limit) and count == sum(value <= limit for value in seconds)


def test_labels_are_bounded_whatever_types_there_are() -> None:
    totals = Totals()
    for number in range(MOST_TYPES * 2):
        totals.add(run(job_type=f"type-{number}"))
    assert len(totals.run) == MOST_TYPES + 1
    assert totals.run[OTHER, "normal"].counts.count(0) < len(BOUNDS) + 1
    assert sum(totals.ended.values()) == MOST_TYPES * 2


def test_a_wait_that_cannot_be_known_is_left_out() -> None:
    totals = Totals()
    totals.add(run(waited=-60.0))
    assert totals.wait == {} and totals.run


def test_a_clock_that_stepped_back_gives_no_negative_length() -> None:
    totals = Totals()
    totals.add(run(seconds=-3.0))
    assert totals.run["a", "normal"].total == 0


def test_lost_runs_and_cancels() -> None:
    totals = Totals()
    for outcome in ("lose", "crash", "complete"):
        totals.add(run(outcome=outcome))
    totals.add(run(seconds=2, outcome="stop", cancel_requested_at=START + timedelta(seconds=1)))
    assert totals.lost() == 2 and totals.cancel.total == 1.0


def test_a_round_trip_through_json_changes_nothing() -> None:
    totals = Totals()
    for number in range(5):
        totals.add(run(seconds=number, waited=number, job_type=f"t{number % 2}"))
    again = Totals.from_json(json.loads(json.dumps(totals.as_json())))
    assert again == totals


def test_other_bounds_start_anew_and_nothing_stored_is_nothing() -> None:
    assert Totals.from_json({}) == Totals()
    stored = {"run": [["a", "normal", [1, 2], 3.0]], "cancel": [[1], 2.0]}
    assert Totals.from_json(stored) == Totals()
