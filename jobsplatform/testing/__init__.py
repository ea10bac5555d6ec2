"""pytest plugin: test handlers and flows without any server (docs/testing.md).

Fixtures: ``jobs`` (a platform cranked by hand on a frozen clock), ``jobs_inline`` (jobs run where they are
submitted), ``make_job`` (legal rows in any state), ``frozen_clock``. Params, results and checkpoints make the
same trip through JSON and the database as in production. To import: ``HandPlatform``, ``Worker``,
``assert_enqueued``, ``refute_enqueued``.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from datetime import UTC, datetime
from importlib import import_module
from typing import TYPE_CHECKING, Any

import pytest

from jobsplatform.kernel import clock, config
from jobsplatform.telemetry import batching

if TYPE_CHECKING:
    from jobsplatform.testing.assertions import assert_enqueued, refute_enqueued
    from jobsplatform.testing.platform import HandPlatform, Worker
    from tasks.models import Job

__all__ = ["HandPlatform", "Worker", "assert_enqueued", "refute_enqueued"]

_HOMES = {
    "HandPlatform": "jobsplatform.testing.platform",
    "Worker": "jobsplatform.testing.platform",
    "assert_enqueued": "jobsplatform.testing.assertions",
    "refute_enqueued": "jobsplatform.testing.assertions",
}


def __getattr__(name: str) -> Any:
    # Loaded when first asked for: pytest loads this plugin before Django has its settings.
    if name not in _HOMES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(import_module(_HOMES[name]), name)


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
    batching.flush()  # into this test's captured output


@pytest.fixture
def jobs_inline(db: None) -> Iterator[None]:
    """Submitted jobs run in their caller, at the end of its outermost transaction."""
    from jobsplatform.testing.commits import commits
    from tasks import inline, registry

    inline.install()
    before, inline.beating = inline.beating, False
    try:
        with commits(), registry.preserved(), config.override(tasks={"provider": "sync"}):
            yield
    finally:
        inline.beating = before
        inline.forget()
        batching.flush()


@pytest.fixture
def make_job(db: None) -> Callable[..., Job]:
    """``make_job(state="running", …)`` stores a legal job row in that state, with what the state implies."""
    from jobsplatform.testing.factory import make_job as make

    return make
