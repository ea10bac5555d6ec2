"""pytest plugin: test handlers and flows without any server.

Fixtures: ``jobs`` (a platform cranked by hand on a frozen clock), ``jobs_inline`` (jobs run where they are
submitted), ``make_job`` (legal rows in any state). Params, results and checkpoints make the same trip through
JSON and the database as in production.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from datetime import UTC, datetime
from typing import TYPE_CHECKING

import pytest

from jobsplatform.kernel import clock, config

if TYPE_CHECKING:
    from jobsplatform.testing.platform import HandPlatform
    from tasks.models import Job

START = datetime(2026, 1, 1, 12, tzinfo=UTC)


@pytest.fixture
def frozen_clock() -> Iterator[clock.FrozenClock]:
    """The platform's clock, stopped at 2026-01-01 12:00 UTC; ``advance(seconds)`` turns it."""
    stopped = clock.FrozenClock(START)
    with clock.use(stopped):
        yield stopped


@pytest.fixture
def jobs(db: None, frozen_clock: clock.FrozenClock) -> Iterator[HandPlatform]:
    """A platform that does only what the test says: dispatch, run, turn the clock, sweep, rescue."""
    from jobsplatform.testing.commits import commits
    from jobsplatform.testing.platform import HandPlatform

    with commits(), HandPlatform(frozen_clock).registered() as platform:
        yield platform


@pytest.fixture
def jobs_inline(db: None) -> Iterator[None]:
    """Submitted jobs run in their caller, at the end of its outermost transaction."""
    from jobsplatform.testing.commits import commits
    from tasks import inline

    inline.install()
    before, inline.beating = inline.beating, False
    try:
        with commits(), config.override(tasks={"provider": "sync"}):
            yield
    finally:
        inline.beating = before
        inline.forget()


@pytest.fixture
def make_job(db: None) -> Callable[..., Job]:
    """``make_job(state="running", …)`` stores a legal job row in that state, with what the state implies."""
    from jobsplatform.testing.factory import make_job as make

    return make
