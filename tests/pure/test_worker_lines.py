"""Messages that take turns in one slot of a worker."""

from __future__ import annotations

from collections.abc import Callable
from uuid import UUID

import pytest

from tasks.worker.lines import LOST_SECONDS, Lines

SLOT, OTHER = UUID(int=1), UUID(int=2)


class Pool:
    """Remembers what began together; the request of messages is their names."""

    def __init__(self) -> None:
        self.begun: list[str] = []
        self.woken = 0

    def begin(self, messages: list[str]) -> str | None:
        names = "".join(messages)
        self.begun.append(names)
        return None if "revoked" in messages else names

    def wake(self) -> None:
        self.woken += 1


@pytest.fixture
def pool() -> Pool:
    return Pool()


@pytest.fixture
def lines(pool: Pool) -> Lines:
    return Lines(pool.wake, pool.begin)


@pytest.fixture
def send(lines: Lines) -> Callable[..., None]:
    def send(*names: str, slot: UUID = SLOT, alone: bool = False) -> None:
        for _ in names:
            lines.sent(slot, "default")
        for name in names:
            lines.enter(slot, name, 0.0, alone=alone)

    return send


def test_those_that_wait_begin_together_when_the_one_before_them_has_ended(
    lines: Lines, pool: Pool, send: Callable[..., None]
) -> None:
    send("a", "b", "c")
    assert pool.begun == ["a"]
    lines.leave(SLOT, 0.0)
    assert pool.begun == ["a", "bc"]
    send("d")
    assert pool.begun == ["a", "bc"]
    lines.leave(SLOT, 0.0)
    assert pool.begun == ["a", "bc", "d"]


def test_those_that_must_be_alone_begin_one_by_one(
    lines: Lines, pool: Pool, send: Callable[..., None]
) -> None:
    send("a")
    send("b", "c", alone=True)
    send("d", "e")
    for _ in range(4):
        lines.leave(SLOT, 0.0)
    assert pool.begun == ["a", "b", "c", "de"]


def test_slots_do_not_wait_for_each_other(lines: Lines, pool: Pool, send: Callable[..., None]) -> None:
    send("a", "b")
    send("x", slot=OTHER)
    assert pool.begun == ["a", "x"]
    assert lines.turning() == {SLOT, OTHER}
    lines.leave(OTHER, 0.0)
    assert lines.turning() == {SLOT}


def test_a_message_that_comes_to_nothing_lets_the_next_begin(
    lines: Lines, pool: Pool, send: Callable[..., None]
) -> None:
    send("revoked", "a")
    assert pool.begun == ["revoked", "a"]
    lines.leave(SLOT, 0.0)
    assert lines.turning() == set()


def test_a_line_is_short_while_none_is_on_its_way_behind_those_that_run(
    lines: Lines, pool: Pool, send: Callable[..., None]
) -> None:
    send("a", "b", "c")
    assert (lines.short(), pool.woken) == ([], 0)
    lines.leave(SLOT, 0.0)
    assert (lines.short(), pool.woken) == ([("default", SLOT)], 1)
    lines.sent(SLOT, "default")
    assert lines.short() == [], "one is on its way"


def test_an_empty_line_is_forgotten_and_wakes_the_dispatcher(
    lines: Lines, pool: Pool, send: Callable[..., None]
) -> None:
    send("a")
    woken = pool.woken
    lines.leave(SLOT, 0.0)
    assert (lines.short(), pool.woken) == ([], woken + 1)
    lines.leave(SLOT, 0.0)  # told twice
    send("b")
    assert pool.begun == ["a", "b"]


def test_what_could_not_be_sent_is_not_counted(lines: Lines, send: Callable[..., None]) -> None:
    send("a")
    lines.sent(SLOT, "default")
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
    lines.leave(SLOT, 0.0)
    assert pool.begun == ["long", "alone"]
    assert lines.turning() == {OTHER}


def test_a_run_that_ended_without_a_word_does_not_hold_up_its_slot(
    lines: Lines, pool: Pool, send: Callable[..., None]
) -> None:
    send("a", "b")
    lines.heal(lambda: {"a"}, 0.0)
    assert pool.begun == ["a"]
    lines.heal(set, 0.0)
    assert pool.begun == ["a", "b"]


def test_a_message_that_never_comes_is_forgotten_after_a_minute(lines: Lines) -> None:
    lines.sent(SLOT, "default")
    for at in (0.0, LOST_SECONDS - 1):
        lines.heal(set, at)
        assert SLOT in lines._lines
    lines.heal(set, LOST_SECONDS)
    assert SLOT not in lines._lines


def test_a_message_nobody_here_sent_begins_as_well(lines: Lines, pool: Pool) -> None:
    lines.enter(SLOT, "from an earlier life", 0.0, alone=False)
    assert pool.begun == ["from an earlier life"]
    lines.leave(SLOT, 0.0)
    assert lines.turning() == set()


def test_one_that_begins_while_it_is_asked_who_is_held_is_not_taken_for_ended(
    lines: Lines, pool: Pool, send: Callable[..., None]
) -> None:
    send("a")
    send("b", "c", alone=True)

    def held() -> set[str]:
        lines.leave(SLOT, 0.0)  # "a" ends and "b" begins, which an answer of a moment ago does not know
        return set()

    lines.heal(held, 0.0)
    assert pool.begun == ["a", "b"]


def test_one_that_ends_before_its_begin_returns_leaves_the_next_its_turn(lines: Lines, pool: Pool) -> None:
    """A thread of the pool may be through before the main thread is told that it took the message."""

    def begin(messages: list[str]) -> str | None:
        request = pool.begin(messages)
        if messages == ["a"]:
            lines.leave(SLOT, 0.0)
        return request

    lines.serve(begin)
    for _ in range(2):
        lines.sent(SLOT, "default")
    lines._lines[SLOT].waiting.extend([("a", True), ("b", True)])
    lines._advance(SLOT, 0.0)
    assert pool.begun == ["a", "b"]
    lines.heal(lambda: {"b"}, 0.0)
    assert lines.turning() == {SLOT}, "b still works"


def test_a_message_that_cannot_even_begin_does_not_hold_up_its_slot(lines: Lines, pool: Pool) -> None:
    def begin(messages: list[str]) -> str | None:
        if messages == ["broken"]:
            raise KeyError("id")
        return pool.begin(messages)

    lines.serve(begin)
    lines.sent(SLOT, "default")
    with pytest.raises(KeyError):
        lines.enter(SLOT, "broken", 0.0, alone=False)
    lines.sent(SLOT, "default")
    lines.enter(SLOT, "a", 0.0, alone=False)
    assert pool.begun == ["a"]
