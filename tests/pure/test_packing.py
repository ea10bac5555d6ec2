"""How many jobs one message carries."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tasks import pace, packing

SHORT, LONG = 0.001, 0.2


@pytest.mark.parametrize(
    ("mean", "runs", "waiting", "slots", "expected"),
    [
        (SHORT, 20, 10_000, 2, 250),  # a quarter of a second of work
        (0.0, 20, 10_000, 2, packing.MOST),
        (0.01, 20, 10_000, 2, 25),
        (SHORT, 19, 10_000, 2, 1),  # not known well enough
        (LONG, 500, 10_000, 2, 1),
        (SHORT, 500, 0, 2, 1),
        (SHORT, 500, 7, 2, 1),  # three each: they start at once in the free slots
        (SHORT, 500, 8, 2, 4),
        (SHORT, 500, 100, 10, 10),  # shared among the slots
        (SHORT, 500, 100, 0, 100),
    ],
)
def test_a_pack_is_a_quarter_of_a_second_of_a_deep_backlog(
    mean: float, runs: int, waiting: int, slots: int, expected: int
) -> None:
    assert packing.size(mean, runs, waiting, slots) == expected


@given(
    mean=st.floats(0, 1000),
    runs=st.integers(0, 10**9),
    waiting=st.integers(0, 10**9),
    slots=st.integers(0, 10**4),
)
def test_a_pack_is_one_job_or_a_sound_many(mean: float, runs: int, waiting: int, slots: int) -> None:
    size = packing.size(mean, runs, waiting, slots)
    assert size == 1 or packing.LEAST <= size <= packing.MOST
    if size > 1:
        assert size * mean <= packing.PACK_SECONDS * 1.001
        assert size * max(1, slots) <= waiting


@given(st.floats(0, 1000))
def test_a_part_is_fifty_milliseconds_of_work_and_at_least_one_job(mean: float) -> None:
    most = packing.part(mean)
    assert 1 <= most <= packing.MOST
    assert most == 1 or most * mean <= packing.PART_SECONDS * 1.001


def test_a_type_new_to_this_process_is_written_as_soon_as_it_would_be_known(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    at = [1000.0]
    monkeypatch.setattr(pace.clock, "monotonic", lambda: at[0])
    watch = pace.Stopwatch()
    watch.add("a", 0.001)
    assert watch.take_due() == {"a": (1, 0.001)}, "nothing was written for long"
    for _ in range(packing.KNOWN_RUNS - 1):
        watch.add("b", 0.5)
        assert watch.take_due() == {}
    watch.add("b", 0.5)
    assert watch.take_due() == {"b": (packing.KNOWN_RUNS, packing.KNOWN_RUNS * 0.5)}
    for _ in range(3 * packing.KNOWN_RUNS):
        watch.add("b", 0.5)
    assert watch.take_due() == {}, "it is known: once a second is enough"
    at[0] += pace.WRITE_SECONDS
    assert watch.take_due()["b"][0] == 3 * packing.KNOWN_RUNS
