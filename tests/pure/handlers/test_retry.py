"""How long to wait after a failure."""

import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from jobsplatform.kernel.errors import ConfigError
from tasks.retry import Backoff, Fixed, Table, rule_of


@pytest.mark.parametrize(
    ("failure", "seconds"),
    [(1, 1), (2, 2), (3, 4), (12, 2048), (13, 3600), (47, 3600), (64, 3600), (1100, 3600)],
)
def test_backoff_doubles_up_to_its_maximum_and_never_overflows(failure: int, seconds: float) -> None:
    assert Backoff(1, 2, 3600, jitter=0).delay(failure, "job") == seconds


@given(
    base=st.floats(0, 1e6),
    factor=st.floats(1, 1e6),
    above=st.floats(0, 1e9),
    jitter=st.floats(0, 1),
    failure=st.integers(-5, 10**9),
)
def test_every_delay_is_between_nothing_and_the_maximum(
    base: float, factor: float, above: float, jitter: float, failure: int
) -> None:
    rule = Backoff(base, factor, base + above, jitter)
    seconds = rule.delay(failure, "job")
    assert math.isfinite(seconds)
    assert 0 <= seconds <= rule.maximum


@given(failure=st.integers(1, 200))
def test_a_later_failure_never_waits_less_but_for_its_jitter(failure: int) -> None:
    rule = Backoff(jitter=0)
    assert rule.delay(failure + 1, "job") >= rule.delay(failure, "job")


def test_jitter_spreads_jobs_and_is_the_same_for_the_same_job() -> None:
    rule = Backoff(100, 2, 100, jitter=0.5)
    delays = {rule.delay(9, f"job {n}") for n in range(50)}
    assert len(delays) == 50
    assert all(50 <= seconds <= 100 for seconds in delays)
    assert rule.delay(9, "job 1") == rule.delay(9, "job 1")


def test_a_base_above_the_maximum_is_refused_not_cut() -> None:
    with pytest.raises(ConfigError, match=r"base \(3600 s\) is above maximum \(600 s\)"):
        Backoff(3600, maximum=600)
    assert Backoff(3600, jitter=0).delay(1, "job") == 3600


@pytest.mark.parametrize(
    "make",
    [
        lambda: Backoff(-1),
        lambda: Backoff(math.nan),
        lambda: Backoff(1, 0.5),
        lambda: Backoff(1, maximum=math.inf),
        lambda: Backoff(1, jitter=2),
        lambda: Backoff("5"),  # type: ignore[arg-type]
        lambda: Backoff(True),
        lambda: Fixed(-1),
        lambda: Fixed(1e11),
        lambda: Table([1, 1e300]),
        lambda: Backoff(1, maximum=1e300),
        lambda: Table([]),
        lambda: Table([1, -1]),
        lambda: Table("123"),  # type: ignore[arg-type]
        lambda: rule_of("5"),
        lambda: rule_of(object()),
    ],
)
def test_nonsense_is_refused(make: object) -> None:
    with pytest.raises(ConfigError):
        make()  # type: ignore[operator]


def test_short_spellings() -> None:
    assert rule_of(30) == Fixed(30)
    assert rule_of([1, 60]) == Table((1, 60))
    table = Table([1, 60])
    assert [table.delay(n, "job") for n in (0, 1, 2, 3, 1000)] == [1, 1, 60, 60, 60]
    assert Fixed(30).delay(7, "job") == 30
