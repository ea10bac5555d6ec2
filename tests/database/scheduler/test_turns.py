"""Whose turn it is: one holder, quiet others, and a way on when nobody can tell."""

from __future__ import annotations

from datetime import timedelta

import pytest

from jobsplatform.kernel.clock import FrozenClock
from jobsplatform.kernel.errors import LockUnavailable
from jobsplatform.kernel.locks import DatabaseLocks, Lease, LockProvider, MemoryLocks
from scheduler.turns import LEFT_LYING_SECONDS, Standing, Turn

KEY = "scheduler:test"


class AwayLocks(MemoryLocks):
    """A store that can be taken away."""

    away = False

    def _here(self) -> None:
        if self.away:
            raise LockUnavailable("away", store="memory")

    def acquire(self, key: str, ttl: float, owner: str = "") -> Lease | None:
        self._here()
        return super().acquire(key, ttl, owner)

    def renew(self, lease: Lease, ttl: float) -> bool:
        self._here()
        return super().renew(lease, ttl)

    def release(self, lease: Lease) -> bool:
        self._here()
        return super().release(lease)


@pytest.fixture(params=["memory", "database"])
def locks(request: pytest.FixtureRequest, db: None) -> LockProvider:
    return MemoryLocks() if request.param == "memory" else DatabaseLocks()


def test_one_of_several_has_it(locks: LockProvider, frozen_clock: FrozenClock) -> None:
    turns = [Turn(KEY, f"s{n}", locks) for n in range(3)]
    assert [turn.look() for turn in turns] == [Standing.MINE, Standing.OTHERS, Standing.OTHERS]
    assert turns[0].look() is Standing.MINE


def test_given_back_it_is_the_next_ones_at_once(locks: LockProvider, frozen_clock: FrozenClock) -> None:
    first, second = Turn(KEY, "a", locks), Turn(KEY, "b", locks)
    first.look()
    first.give_back()
    first.give_back()
    assert second.look() is Standing.MINE


def test_a_holder_keeps_it_by_looking(locks: LockProvider, frozen_clock: FrozenClock) -> None:
    first, second = Turn(KEY, "a", locks), Turn(KEY, "b", locks)
    for _ in range(10):
        assert (first.look(), second.look()) == (Standing.MINE, Standing.OTHERS)
        frozen_clock.advance(11)


def test_a_holder_that_stood_still_sees_that_it_lost_it(
    locks: LockProvider, frozen_clock: FrozenClock
) -> None:
    first, second = Turn(KEY, "a", locks), Turn(KEY, "b", locks)
    first.look()
    frozen_clock.advance(60)
    assert second.look() is Standing.MINE
    assert first.look() is Standing.OTHERS


def test_a_store_that_forgot_is_no_reason_to_stop(frozen_clock: FrozenClock) -> None:
    locks = MemoryLocks()
    turn = Turn(KEY, "a", locks)
    turn.look()
    locks._held.clear()
    frozen_clock.advance(15)
    assert turn.look() is Standing.MINE


def test_unavailable_is_neither_mine_nor_others(frozen_clock: FrozenClock) -> None:
    locks = AwayLocks()
    holder, other = Turn(KEY, "a", locks), Turn(KEY, "b", locks)
    holder.look()
    locks.away = True
    frozen_clock.advance(12)
    assert holder.look() is Standing.MINE, "its lock still lives"
    assert other.look() is Standing.UNKNOWN
    frozen_clock.advance(30)
    assert holder.look() is Standing.UNKNOWN
    holder.give_back()
    locks.away = False
    assert {holder.look(), other.look()} == {Standing.MINE, Standing.OTHERS}


def test_the_patience_of_each_standing(frozen_clock: FrozenClock) -> None:
    turn = Turn(KEY, "a", MemoryLocks())
    assert turn.patience(Standing.MINE) == timedelta(0)
    assert turn.patience(Standing.OTHERS) == timedelta(seconds=LEFT_LYING_SECONDS)
    drawn = {turn.patience(Standing.UNKNOWN) for _ in range(20)}
    assert len(drawn) > 10, "each lets others go first for a moment of its own"
    assert timedelta(0) < min(drawn) <= max(drawn) <= timedelta(seconds=1)
