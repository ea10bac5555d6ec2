"""Seeded histories of crashes, lost messages, wrong clocks and lock stores: every slot is decided once."""

from __future__ import annotations

import pytest

from simulation.run import tell

pytestmark = pytest.mark.django_db(transaction=True)


@pytest.mark.parametrize("seed", range(6))
def test_a_history_keeps_every_promise(seed: int) -> None:
    told = tell(seed)
    assert not told.wrong, f"{told}\nagain: ./dev simulate --seed {seed}"
