"""Which failed calls are sent again, and when."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from jobsplatform_sdk.errors import Broken, NoAnswer, NotFound, RateLimited, Unreachable
from jobsplatform_sdk.retrying import FIRST_SECONDS, LONGEST_SECONDS, Attempts


@given(st.integers(0, 200), st.floats(0, 0.999))
def test_pauses_grow_to_the_longest_and_never_past_it(count: int, chance: float) -> None:
    attempts = Attempts(True, float("inf"), 0.0, lambda: chance)
    pauses = [attempts.pause_after(Unreachable(""), 0.0) or 0.0 for _ in range(count)]
    assert pauses == sorted(pauses)
    assert all(FIRST_SECONDS / 2 <= pause <= LONGEST_SECONDS for pause in pauses)


@given(st.floats(0, 1000), st.floats(0, 100))
def test_a_pause_never_ends_after_the_patience(now: float, seconds: float) -> None:
    pause = Attempts(True, seconds, 0.0).pause_after(Unreachable(""), now)
    assert pause is None or now + pause <= seconds


def test_only_what_is_safe_is_sent_again() -> None:
    def again(error: Exception, repeatable: bool) -> bool:
        return Attempts(repeatable, 60.0, 0.0).pause_after(error, 0.0) is not None  # type: ignore[arg-type]

    assert again(Unreachable(""), False) and again(RateLimited(""), False)
    assert again(NoAnswer(""), True) and not again(NoAnswer(""), False)
    assert not again(NotFound(""), True) and not again(Broken(""), True)
