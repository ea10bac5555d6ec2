"""Single messages that take turns in one slot of a worker."""

from __future__ import annotations

from collections.abc import Callable
from uuid import UUID

import pytest

from tasks.worker.lines import FEW, Begin, Lines

SLOT, OTHER = UUID(int=1), UUID(int=2)


class Pool:
    """Remembers what began; the request of a message is its name."""

    def __init__(self) -> None:
        self.begun: list[str] = []
        self.woken = 0

    def message(self, name: str, *, comes_to_nothing: bool = False) -> Begin:
        def begin() -> str | None:
            self.begun.append(name)
            return None if comes_to_nothing else name

        return begin

    def wake(self) -> None:
        self.woken += 1


@pytest.fixture
def pool() -> Pool:
    return Pool()


@pytest.fixture
def lines(pool: Pool) -> Lines:
    return Lines(pool.wake)


@pytest.fixture
def send(lines: Lines, pool: Pool) -> Callable[..., None]:
    def send(*names: str, slot: UUID = SLOT, packed: bool = False) -> None:
        for _ in names:
            lines.sent(slot, "default", packed=packed)
        for name in names:
            lines.enter(slot, pool.message(name), 0.0)

    return send


def test_one_begins_when_the_one_before_it_has_ended(
    lines: Lines, pool: Pool, send: Callable[..., None]
) -> None:
    send("a", "b", "c")
    assert pool.begun == ["a"]
    lines.leave(SLOT)
    assert pool.begun == ["a", "b"]
    lines.leave(SLOT)
    lines.leave(SLOT)
    assert pool.begun == ["a", "b", "c"]


def test_slots_do_not_wait_for_each_other(lines: Lines, pool: Pool, send: Callable[..., None]) -> None:
    send("a", "b")
    send("x", slot=OTHER)
    assert pool.begun == ["a", "x"]
    assert lines.turning() == {SLOT, OTHER}
    lines.leave(OTHER)
    assert lines.turning() == {SLOT}


def test_a_message_that_comes_to_nothing_lets_the_next_begin(lines: Lines, pool: Pool) -> None:
    lines.enter(SLOT, pool.message("revoked", comes_to_nothing=True), 0.0)
    lines.enter(SLOT, pool.message("a"), 0.0)
    assert pool.begun == ["revoked", "a"]


def test_a_line_is_short_while_few_are_left_and_says_so_once(
    lines: Lines, pool: Pool, send: Callable[..., None]
) -> None:
    send(*map(str, range(FEW + 2)))
    assert lines.short() == []
    lines.leave(SLOT)
    assert (lines.short(), pool.woken) == ([], 0)
    lines.leave(SLOT)
    assert (lines.short(), pool.woken) == ([("default", SLOT)], 1)
    lines.leave(SLOT)
    assert (lines.short(), pool.woken) == ([("default", SLOT)], 1)


def test_a_pack_that_runs_alone_is_a_short_line(lines: Lines, send: Callable[..., None]) -> None:
    send("a", "b", packed=True)
    assert lines.short() == []
    lines.leave(SLOT)
    assert lines.short() == [("default", SLOT)]


def test_an_empty_line_is_forgotten_and_wakes_the_dispatcher(
    lines: Lines, pool: Pool, send: Callable[..., None]
) -> None:
    send("a", packed=True)
    lines.leave(SLOT)
    assert (lines.short(), pool.woken) == ([], 1)
    lines.leave(SLOT)  # told twice
    send("b")
    assert pool.begun == ["a", "b"]


def test_what_could_not_be_sent_is_not_counted(lines: Lines) -> None:
    lines.sent(SLOT, "default", packed=True)
    lines.sent(SLOT, "default", packed=True)
    assert lines.short() == []
    lines.unsent(SLOT)
    assert lines.short() == [("default", SLOT)]


def test_those_behind_a_long_run_are_seen_and_dropped(
    lines: Lines, pool: Pool, send: Callable[..., None]
) -> None:
    send("long", "b", "c")
    send("alone", slot=OTHER)
    assert lines.slow(before=0.0) == []
    assert lines.slow(before=1.0) == [SLOT]
    lines.drop(SLOT)
    assert lines.slow(before=1.0) == []
    lines.leave(SLOT)
    assert pool.begun == ["long", "alone"]


def test_a_run_that_ended_without_a_word_does_not_hold_up_its_slot(
    lines: Lines, pool: Pool, send: Callable[..., None]
) -> None:
    send("a", "b")
    lines.heal(held={"a"})
    assert pool.begun == ["a"]
    lines.heal(held=set())
    assert pool.begun == ["a", "b"]


def test_a_message_nobody_here_sent_begins_as_well(lines: Lines, pool: Pool) -> None:
    lines.enter(SLOT, pool.message("from an earlier life"), 0.0)
    assert pool.begun == ["from an earlier life"]
