"""Hints over Redis: none waits for an answer, the last of a burst is heard, and a Redis that is away costs nobody."""

from __future__ import annotations

import socket
from collections.abc import Iterator

import pytest
import redis

from jobsplatform.kernel import config
from jobsplatform.kernel.loop import wait_until
from tasks import hints


@pytest.fixture
def heard(redis_url: str, monkeypatch: pytest.MonkeyPatch) -> Iterator[list[int]]:
    """How many hints had been sent at each call of a listener, which hears them through Redis alone."""
    calls: list[int] = []
    monkeypatch.setattr(hints, "_publisher", None)
    with config.override(redis_url=redis_url):
        listener = hints.Listener(lambda: calls.append(len(sent)))
        listener.start()
        wait_until(lambda: calls, 10)  # it calls once as soon as it listens
        monkeypatch.setattr(hints, "_listeners", ())
        calls.clear()
        sent.clear()
        yield calls
        listener.stop()


sent: list[None] = []


def send() -> None:
    sent.append(None)
    hints.wake_now()


def connection_of_the_publisher() -> redis.Connection:
    assert hints._publisher is not None
    connection: redis.Connection = hints._publisher._connection
    return connection


def test_the_last_hint_of_a_burst_is_heard_and_the_burst_is_few_calls(heard: list[int]) -> None:
    for _ in range(500):
        send()
    wait_until(lambda: heard and heard[-1] == 500, 10)
    assert len(heard) < 250


def test_two_hints_far_apart_are_two_calls(heard: list[int]) -> None:
    send()
    wait_until(lambda: heard == [1], 10)
    send()
    wait_until(lambda: heard == [1, 2], 10)


def test_redis_answers_no_hint(heard: list[int]) -> None:
    for _ in range(50):
        send()
    wait_until(lambda: heard and heard[-1] == 50, 10)
    assert not connection_of_the_publisher().can_read(timeout=0)


def test_a_closed_connection_is_seen_before_the_next_hint_which_arrives(
    heard: list[int], redis_url: str
) -> None:
    send()
    wait_until(lambda: heard == [1], 10)
    host, port = connection_of_the_publisher()._sock.getsockname()
    with redis.Redis.from_url(redis_url) as client:
        client.execute_command("CLIENT", "KILL", "ADDR", f"{host}:{port}")
    send()
    wait_until(lambda: heard == [1, 2], 10)


def test_answers_of_something_that_knows_no_silence_are_taken_away(heard: list[int]) -> None:
    send()
    connection = connection_of_the_publisher()
    connection.send_command("CLIENT", "REPLY", "ON")
    for _ in range(5):
        connection.send_command("NO-SUCH-COMMAND")
    for _ in range(5):
        send()
    wait_until(lambda: heard and heard[-1] == 6, 10)
    assert connection_of_the_publisher() is connection


def test_a_redis_that_does_not_answer_is_asked_once_and_then_left_alone(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(hints, "_publisher", None)
    with socket.create_server(("127.0.0.1", 0)) as silent:
        port = silent.getsockname()[1]
        # A password makes the client wait for an answer as soon as it has connected.
        with config.override(redis_url=f"redis://:secret@127.0.0.1:{port}/0"):
            for _ in range(100):
                hints.wake_now()
        silent.settimeout(0.2)
        silent.accept()[0].close()
        with pytest.raises(TimeoutError):
            silent.accept()


def test_a_port_where_nobody_listens_raises_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(hints, "_publisher", None)
    with config.override(redis_url="redis://127.0.0.1:1/0"):
        for _ in range(3):
            hints.wake_now()
