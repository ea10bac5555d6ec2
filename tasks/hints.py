"""A nudge for the dispatchers: "look now". Only a hint: a lost one costs a poll interval, never a job.

With a REDIS_URL hints travel over one pub/sub channel; without one they stay in this process, which is all
that the one-process profile needs.
"""

from __future__ import annotations

import os
import threading
from collections.abc import Callable
from contextlib import suppress
from functools import partial
from types import TracebackType
from typing import Any, Self
from uuid import UUID

import redis
from redis.backoff import NoBackoff
from redis.retry import Retry

from jobsplatform.kernel import clock, config, db
from jobsplatform.kernel.loop import Loop

CHANNEL = "jobsplatform:hints"
EVERYBODY = "*"

SEND_SECONDS = 0.05
"""Nobody who submits a job waits longer than this for Redis: to connect, or to take a hint."""

REST_SECONDS = 2.0
"""After a failure no hint is tried for so long."""

LISTEN_SECONDS = 0.5
"""One wait for a message; also the longest that stopping a listener takes."""

PAUSE_SECONDS = 0.002
"""A listener calls back no more often than this; all hints that came meanwhile are one call, at its end."""

SELDOM_SECONDS = 0.05
"""The ends of runs cause no more hints of a process than one in so long."""

TOGETHER = 1000
"""At most so many hints are one call."""

Callback = Callable[[], None]

_listeners: tuple[Callback, ...] = ()
_publisher: Publisher | None = None


def wake(worker_id: UUID | None = None) -> None:
    """Tell every dispatcher (or only that of ``worker_id``) to look, once the current transaction commits.

    Never raises, and never blocks longer than 50 ms; while Redis is away it costs nothing.
    """
    db.after_commit(partial(wake_now, EVERYBODY if worker_id is None else str(worker_id)))


def wake_now(whom: str = EVERYBODY) -> None:
    """``wake`` for a caller that knows of no open transaction."""
    for callback in _listeners:
        callback()
    publish(CHANNEL, whom)


def publish(channel: str, whom: str) -> None:
    """Send one hint over a channel, to other processes. Never raises; without Redis there are none to hear it."""
    global _publisher
    url = config.get().redis_url
    if not url:
        return
    # A forked child must not write into its parent's connection, nor wait for a lock that nobody here holds.
    if _publisher is None or _publisher.owner != (os.getpid(), url):
        _publisher = Publisher(url)
    _publisher.send(whom, channel)


_ended_at = float("-inf")


def run_ended() -> None:
    """Tell that runs of this process have ended, now and then.

    Its own worker knows without being told, and passes it on when it has no use itself for the slot.
    """
    global _ended_at
    at = clock.monotonic()
    if at - _ended_at >= SELDOM_SECONDS:
        _ended_at = at
        wake_now()


class Publisher:
    """Sends hints over one connection without waiting for answers: Redis is told to give none.

    A connection that Redis has closed is seen before the next hint, and made anew. After a failure hints are
    dropped for ``REST_SECONDS``.
    """

    def __init__(self, url: str) -> None:
        self.owner = (os.getpid(), url)
        self._pool = _connect(url, SEND_SECONDS).connection_pool
        self._connection: Any = None
        self._sending = threading.Lock()
        self._rests_until = 0.0

    def send(self, whom: str, channel: str = CHANNEL) -> None:
        """Send one hint. Never raises."""
        with self._sending:
            if clock.monotonic() < self._rests_until:
                return
            try:
                self._open().send_command("PUBLISH", channel, whom, check_health=False)
            except (redis.RedisError, OSError):
                self._close()
                self._rests_until = clock.monotonic() + REST_SECONDS

    def _open(self) -> Any:
        """The connection, known to have been open a moment ago."""
        if self._connection is not None:
            try:
                while self._connection.can_read(timeout=0):  # what stands between us and Redis may answer yet
                    with suppress(redis.ResponseError):
                        self._connection.read_response()
                return self._connection
            except (redis.RedisError, OSError):
                self._close()
        connection = self._pool.make_connection()
        connection.connect()
        connection.send_command("CLIENT", "REPLY", "OFF", check_health=False)
        self._connection = connection
        return connection

    def _close(self) -> None:
        connection, self._connection = self._connection, None
        if connection is not None:
            connection.disconnect()


def _connect(url: str, seconds: float | None) -> redis.Redis:
    return redis.Redis.from_url(
        url,
        socket_timeout=seconds,
        socket_connect_timeout=seconds,
        socket_keepalive=True,
        retry=Retry(NoBackoff(), 0),
        decode_responses=True,
    )


class Listener(Loop):
    """Calls back after every hint, from a thread of its own; once more after a gap in which some were lost.

    Hints that come close together share a call, which follows the last of them.
    """

    name = "hints"
    channel = CHANNEL

    def __init__(self, callback: Callback, whoami: Callable[[], UUID | None] = lambda: None) -> None:
        super().__init__()
        self._callback = callback
        self._whoami = whoami
        self._pubsub: Any = None

    def start(self) -> None:
        self._enlist()
        if config.get().redis_url:
            super().start()

    def stop(self, timeout: float | None = 10.0) -> bool:
        self._withdraw()
        ended = super().stop(timeout)
        self._forget()
        return ended

    def _enlist(self) -> None:
        """Hear the hints of this process, which take no way over Redis."""
        global _listeners
        _listeners = (*_listeners, self._callback)

    def _withdraw(self) -> None:
        global _listeners
        _listeners = tuple(c for c in _listeners if c is not self._callback)

    def step(self) -> bool:
        if self._pubsub is None:
            client = _connect(config.get().redis_url, 5.0)
            pubsub = client.pubsub(ignore_subscribe_messages=True)
            pubsub.subscribe(self.channel)
            self._pubsub = pubsub
            self._callback()
        message = self._pubsub.get_message(timeout=LISTEN_SECONDS)
        hinted = False
        for _ in range(TOGETHER):
            if message is None:
                break
            hinted = hinted or (message.get("type") == "message" and self._concerns(message.get("data")))
            message = self._pubsub.get_message(timeout=0)
        if hinted:
            self._callback()
            self._stopping.wait(PAUSE_SECONDS)
        return True

    def failed(self, error: Exception) -> None:
        self._forget()

    def _concerns(self, whom: object) -> bool:
        me = self._whoami()
        return whom == EVERYBODY or me is None or whom == str(me)

    def _forget(self) -> None:
        pubsub, self._pubsub = self._pubsub, None
        if pubsub is not None:
            try:
                pubsub.close()
            except (redis.RedisError, OSError):
                pass  # it is gone already


class Waiter:
    """Wait for the next hint: ``with Waiter() as waiter: waiter.wait(3)``."""

    def __init__(self) -> None:
        self._hinted = threading.Event()
        self._listener = Listener(self._hinted.set)

    def __enter__(self) -> Self:
        self._listener.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._listener.stop()

    def wait(self, timeout: float) -> bool:
        """Whether a hint came within ``timeout`` seconds; a hint since the last wait counts."""
        came = self._hinted.wait(timeout)
        self._hinted.clear()
        return came
