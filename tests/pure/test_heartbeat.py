"""The thread that keeps a worker's lease."""

from __future__ import annotations

import itertools
from typing import Any, cast

import pytest

from jobsplatform.kernel import config
from jobsplatform.kernel.loop import MAX_BACKOFF_SECONDS
from tasks.heartbeat import Heartbeat, Trust


class Unreachable(Heartbeat):
    """Its beats never reach the database."""

    def step(self) -> bool:
        raise OSError("away")


@pytest.mark.parametrize(("every", "longest"), [(1.0, 1.0), (30.0, MAX_BACKOFF_SECONDS)])
def test_however_long_the_database_was_away_the_next_try_is_at_most_a_beat_later(
    every: float, longest: float
) -> None:
    beats = Unreachable(cast(Any, None), Trust(3 * every, 0.0), lambda: 0)
    with config.override(tasks={"heartbeat_seconds": every, "lease_seconds": 3 * every}):
        pauses = [beats.round() for _ in range(10)]
    assert pauses[-1] == longest
    assert all(earlier <= later for earlier, later in itertools.pairwise(pauses))
