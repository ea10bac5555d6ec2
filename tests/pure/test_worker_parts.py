"""The parts of a worker that need no process: trust, appetite, losses, what a message names."""

from __future__ import annotations

from uuid import UUID

import pytest
from hypothesis import given
from hypothesis import strategies as st

from jobsplatform.celery import settings_of, transport_options
from jobsplatform.kernel import config
from jobsplatform.kernel.ids import uuid7
from tasks.heartbeat import Trust
from tasks.worker.inflight import key_of, parse_keys, sender_of
from tasks.worker.losses import How, Loss, Losses
from tasks.worker.sender import WORKER_HEADER
from tasks.worker.watchdog import Appetite

LEASE = 15.0
KEY = (UUID("01a227d0-a0c4-7000-8000-bc12bb679873"), 3)


def test_a_worker_may_judge_after_a_full_lease_of_beats() -> None:
    trust = Trust(LEASE, at=0.0)
    for at in (0.0, 5.0, 10.0):
        trust.beaten(at)
        assert not trust.may_judge(at)
    trust.beaten(15.0)
    assert trust.may_judge(15.0)


def test_a_failed_beat_takes_the_word_away_for_a_full_lease() -> None:
    trust = Trust(LEASE, at=0.0)
    for at in range(0, 30, 5):
        trust.beaten(at)
    trust.missed()
    assert not trust.connected
    assert not trust.may_judge(30.0)
    trust.beaten(31.0)
    assert trust.connected
    for at in (36.0, 41.0):
        trust.beaten(at)
    assert not trust.may_judge(45.0)
    trust.beaten(46.0)
    assert trust.may_judge(46.0)


def test_a_gap_without_an_error_counts_like_a_failure() -> None:
    trust = Trust(LEASE, at=0.0)
    for at in (5.0, 10.0, 15.0):
        trust.beaten(at)
    # The process was stopped, and nobody told it.
    trust.beaten(40.0)
    assert not trust.may_judge(40.0)


def test_a_beat_that_is_long_ago_is_no_ground_to_judge() -> None:
    trust = Trust(LEASE, at=0.0)
    for at in range(0, 30, 5):
        trust.beaten(at)
    assert not trust.may_judge(25.0 + LEASE)


def test_a_busy_file_is_contact_but_no_beat() -> None:
    trust = Trust(LEASE, at=0.0)
    trust.busy(10.0)
    assert trust.silent_for(12.0) == 2.0
    assert trust.connected
    trust.beaten(16.0)
    assert not trust.may_judge(16.0)


@given(st.lists(st.floats(0, 1000), min_size=1, max_size=30))
def test_silence_is_never_negative(instants: list[float]) -> None:
    trust = Trust(LEASE, at=0.0)
    for at in instants:
        trust.beaten(at)
        assert trust.silent_for(at - 1) >= 0.0


class Pool:
    """How many requests have been taken."""

    def __init__(self) -> None:
        self.taken = 0

    def __call__(self) -> int:
        return self.taken


def test_resent_messages_that_start_nothing_make_hungry() -> None:
    pool = Pool()
    appetite = Appetite(pool)
    appetite.sent(0, free=True, at=0.0)
    assert appetite.hungry_for(100.0) == 0.0
    appetite.sent(1, free=True, at=100.0)
    appetite.sent(1, free=True, at=110.0)
    assert appetite.hungry_for(160.0) == 60.0


@pytest.mark.parametrize("relief", ["a start", "a full pool"])
def test_a_start_or_a_full_pool_ends_the_hunger(relief: str) -> None:
    pool = Pool()
    appetite = Appetite(pool)
    appetite.sent(1, free=True, at=100.0)
    if relief == "a start":
        pool.taken += 1
    else:
        appetite.sent(1, free=False, at=110.0)
    assert appetite.hungry_for(160.0) == 0.0


def test_a_loss_is_told_once_and_stays_until_written() -> None:
    losses, woken = Losses(), []
    losses.listen(lambda: woken.append(1))
    loss = Loss(KEY, How.TIMED_OUT, "late")
    losses.tell(loss)
    losses.tell(Loss(KEY, How.DIED, "the same, told by another hook"))
    assert losses.first() is loss
    assert losses.first() is loss
    losses.done(loss)
    assert losses.first() is None
    assert woken == [1]


def test_what_we_end_ourselves_is_no_loss() -> None:
    losses = Losses()
    losses.expect(KEY)
    losses.tell(Loss(KEY, How.DIED, "killed by us"))
    assert losses.first() is None


def test_a_message_names_a_run() -> None:
    assert parse_keys([str(KEY[0]), 3], {}) == [KEY]


def test_what_a_process_is_to_do_in_turn_names_several() -> None:
    other = uuid7()
    assert parse_keys([[[str(KEY[0]), 3], [str(other), 1]]], {}) == [KEY, (other, 1)]


def test_a_message_of_a_pack_has_no_lease() -> None:
    assert parse_keys([str(KEY[0]), 0], {}) == [(KEY[0], 0)] == [key_of(KEY[0], 0, KEY[0])]
    assert key_of(*KEY, None) == KEY


@pytest.mark.parametrize(
    "args",
    [
        None, "ab", [], [str(KEY[0])], [str(KEY[0]), "3"], [str(KEY[0]), True], [str(KEY[0]), -1],
        [str(KEY[0]), 2**63], [str(KEY[0]), 1.0], ["x", 1], [KEY[0], 1], [None, 1], [str(KEY[0]), 1, 2],
        [[]], [[[str(KEY[0]), 3], None]], [[[str(KEY[0]), 3], ["x", 1]]], [[[[str(KEY[0]), 3]]]], [{}],
    ],
)  # fmt: skip
def test_anything_else_names_none(args: object) -> None:
    assert parse_keys(args, {}) == []


def test_keywords_name_none() -> None:
    assert parse_keys([str(KEY[0]), 3], {"lease": 4}) == []


def test_the_sender_is_read_from_the_header() -> None:
    sender = uuid7()
    assert sender_of({WORKER_HEADER: str(sender)}) == sender
    for headers in (None, {}, {WORKER_HEADER: "x"}, {WORKER_HEADER: None}, "text", 3):
        assert sender_of(headers) is None


def test_messages_are_json_and_acknowledged_early() -> None:
    settings = settings_of(config.get())
    assert settings["accept_content"] == ["json"]
    assert settings["task_acks_late"] is False
    assert settings["worker_prefetch_multiplier"] == 1


@pytest.mark.parametrize(
    ("url", "option"),
    [
        ("memory://", "polling_interval"),
        ("redis://host/0", "visibility_timeout"),
        ("rediss://host", "socket_timeout"),
    ],
)
def test_each_broker_is_told_what_it_understands(url: str, option: str) -> None:
    assert option in transport_options(url)


def test_an_unknown_broker_is_told_nothing() -> None:
    assert transport_options("amqp://host") == {}
