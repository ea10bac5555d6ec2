"""When the progress of a run is written: at once at first, then together with that of others, never too often."""

import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from jobsplatform.kernel.ids import uuid7
from tasks import run_state
from tasks.run_state import RunState

EVERY = 0.25
HALF = (1.0, 2.0, "half")


class Watch:
    def __init__(self) -> None:
        self.now = 100.0

    def monotonic(self) -> float:
        return self.now


@pytest.fixture
def watch(monkeypatch: pytest.MonkeyPatch) -> Watch:
    found = Watch()
    monkeypatch.setattr(run_state, "time", found)
    return found


def written(watch: Watch, at: float, state: RunState | None = None) -> RunState:
    watch.now = at
    state = state or RunState(uuid7(), 1)
    state.note(HALF)
    state.written(HALF, EVERY)
    return state


def test_the_first_is_due_at_once(watch: Watch) -> None:
    state = RunState(uuid7(), 1)
    assert (state.due_in(), state.looks_in()) == (None, None)
    state.note(HALF)
    assert (state.due_in(), state.looks_in()) == (0.0, 0.0)


def test_runs_that_began_apart_are_written_together_from_then_on(watch: Watch) -> None:
    states = [written(watch, at) for at in (100.01, 100.12, 100.2)]
    assert {state.next_at for state in states} == {100.5}
    for state in states:
        written(watch, 100.53, state)
    assert {state.next_at for state in states} == {100.75}


def test_whoever_looks_next_need_not_be_told(watch: Watch) -> None:
    state = written(watch, 100.01)
    assert state.due_in() is None
    assert state.looks_in() == pytest.approx(0.49)
    watch.now = 100.6
    assert state.looks_in() is None
    state.note(HALF)
    assert state.looks_in() == 0.0


def test_after_a_silence_it_begins_anew(watch: Watch) -> None:
    state = written(watch, 109.9, written(watch, 100.01))
    assert state.next_at == 110.25


@given(st.lists(st.tuples(st.floats(0.001, 1.0), st.floats(0.0, 0.4)), min_size=2, max_size=40))
def test_between_two_of_the_shared_times_a_run_is_written_once_at_most(
    pauses: list[tuple[float, float]],
) -> None:
    watch = Watch()
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(run_state, "time", watch)
        state, between = RunState(uuid7(), 1), []
        for pause, delay in pauses:
            watch.now += pause
            state.note(HALF)
            watch.now += (state.due_in() or 0.0) + delay
            between.append(math.floor(watch.now / EVERY + 1e-9))
            state.written(HALF, EVERY)
    assert len(set(between)) == len(between)
