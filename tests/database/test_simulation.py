"""Seeded histories of crashes, lost messages, wrong clocks and lock stores: every slot is decided once.

``JP_SIMULATION_SECONDS=600`` looks longer; ``./dev simulate`` does it without the suite.
"""

from __future__ import annotations

import os
import time
from collections import Counter
from collections.abc import Callable
from itertools import count
from typing import Any
from unittest.mock import patch

import pytest
from django.db.models import QuerySet

from scheduler.steps import STEPS
from simulation.run import tell
from tests.database.simulation_bugs import BUGS

pytestmark = pytest.mark.django_db(transaction=True)

SECONDS = float(os.environ.get("JP_SIMULATION_SECONDS", "30"))
FIXED = 3
"""So many seeds are told however slow the machine is."""
UNTIL_CAUGHT = 8


def test_every_history_keeps_every_promise() -> None:
    counts: Counter[str] = Counter()
    steps: set[str] = set()
    until = time.monotonic() + SECONDS
    for seed in count():
        if seed >= FIXED and time.monotonic() >= until:
            break
        told = tell(seed)
        assert not told.wrong, f"{told}\nagain: ./dev simulate --seed {seed}"
        counts += told.counts
        steps |= told.steps
    assert steps == set(STEPS), "a history passes every step at which a process may die"
    for what in (
        "hints lost",
        "hints doubled",
        "crashes",
        "rivals",
        "outages",
        "clock steps",
        "lock troubles",
    ):
        assert counts[what], f"{what}: none of it happened"


def test_a_seed_tells_the_same_history_again() -> None:
    once, again = tell(4), tell(4)
    assert once.ledger
    assert (once.counts, once.ledger) == (again.counts, again.ledger)


@pytest.mark.postgres
def test_without_any_row_lock_the_keys_and_the_cursor_still_hold() -> None:
    with patch.object(QuerySet, "select_for_update", lambda rows, **_: rows.all()):
        for seed in range(2):
            assert not tell(seed).wrong, f"seed {seed}"


@pytest.mark.parametrize("bug", BUGS, ids=lambda bug: bug.__name__)
def test_a_planted_bug_is_noticed(bug: Callable[[], Any]) -> None:
    with bug():
        for seed in range(UNTIL_CAUGHT):
            told = tell(seed)
            if told.wrong:
                break
    assert told.wrong, f"{bug.__name__} was not noticed in {UNTIL_CAUGHT} histories"
    assert BUGS[bug] in str(told)
