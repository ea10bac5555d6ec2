"""Who of several jobs of one overlap key starts, waits or gives way: policy x occupied x what waits already."""

from __future__ import annotations

import itertools

import pytest

from tasks.overlap import Decision, decide
from tasks.states import DECIDED, Overlap

SKIP, ONE, ALL, OTHER = Overlap.SKIP, Overlap.BUFFER_ONE, Overlap.BUFFER_ALL, Overlap.CANCEL_OTHER

# occupied, the policies that wait (oldest first): start, dropped, stop the occupant
TABLE: dict[tuple[bool, tuple[Overlap, ...]], tuple[int | None, set[int], bool]] = {
    (False, ()): (None, set(), False),
    (True, ()): (None, set(), False),
    (False, (SKIP,)): (0, set(), False),
    (False, (SKIP, SKIP, SKIP)): (0, {1, 2}, False),
    (True, (SKIP,)): (None, {0}, False),
    (True, (SKIP, SKIP)): (None, {0, 1}, False),
    (False, (ONE,)): (0, set(), False),
    (False, (ONE, ONE)): (0, set(), False),
    (False, (ONE, ONE, ONE)): (0, {2}, False),
    (True, (ONE,)): (None, set(), False),
    (True, (ONE, ONE, ONE)): (None, {1, 2}, False),
    (False, (ALL,)): (0, set(), False),
    (False, (ALL, ALL, ALL)): (0, set(), False),
    (True, (ALL,)): (None, set(), False),
    (True, (ALL, ALL, ALL)): (None, set(), False),
    (False, (OTHER,)): (0, set(), False),
    (False, (OTHER, OTHER, OTHER)): (2, {0, 1}, False),
    (True, (OTHER,)): (None, set(), True),
    (True, (OTHER, OTHER, OTHER)): (None, {0, 1}, True),
    # An edit changed the policy while jobs waited: each goes by its own.
    (True, (ALL, ONE)): (None, {1}, False),
    (True, (ONE, ALL)): (None, set(), False),
    (True, (ALL, SKIP)): (None, {1}, False),
    (False, (ALL, SKIP)): (0, {1}, False),
    (False, (SKIP, ALL)): (0, set(), False),
    (True, (ALL, OTHER)): (None, {0}, True),
    (False, (ALL, OTHER)): (1, {0}, False),
    (True, (OTHER, ALL)): (None, set(), True),
    (True, (OTHER, ONE)): (None, {1}, True),
    (False, (OTHER, ONE, ONE)): (0, {2}, False),
}


@pytest.mark.parametrize(("occupied", "held"), TABLE)
def test_the_table(occupied: bool, held: tuple[Overlap, ...]) -> None:
    start, drop, stop = TABLE[occupied, held]
    assert decide(occupied, held) == Decision(start, tuple(sorted(drop)), stop)


@pytest.mark.parametrize("occupied", [True, False])
def test_laws_of_every_mixture(occupied: bool) -> None:
    for length in range(5):
        for held in itertools.product(sorted(DECIDED), repeat=length):
            decision = decide(occupied, held)
            assert (decision.start is None) == (occupied or not held), "a free key is never left idle"
            assert decision.start not in decision.drop
            assert decision.stop == (occupied and OTHER in held)
            stays = [n for n in range(length) if n not in decision.drop and n != decision.start]
            assert all(held[n] != SKIP for n in stays), "a skipped one never waits"
            assert sum(held[n] == ONE for n in stays) <= 1
            if not decision.stop:
                # Looked at once more, with the started one as occupant, nothing changes: it is level-triggered.
                again = decide(bool(held), [held[n] for n in stays])
                assert again == Decision()
