"""A nudge for the dispatchers: "look now". Only a hint: a lost one costs a poll interval, never a job.

With a REDIS_URL hints travel over one pub/sub channel; without one they stay in this process, which is all
that the one-process profile needs.
"""

from __future__ import annotations

import os
import threading
from collections.abc import Callable
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
"""Nobody who submits a job waits longer than this for a hint to leave."""

REST_SECONDS = 2.0
"""After a failure no hint is tried for so long."""

LISTEN_SECONDS = 0.5
"""One wait for a message; also the longest that stopping a listener takes."""

Callback = Callable[[], None]

_listeners: tuple[Callback, ...] = ()
_client: tuple[int, str, redis.Redis] | None = None
_rests_until = 0.0


def wake(worker_id: UUID | None = None) -> None:
    """Tell every dispatcher (or only that of ``worker_id``) to look, once the current transaction commits.

    Never raises, and never blocks longer than 50 ms; while Redis is away it costs nothing.
    """
    db.after_commit(partial(_tell, EVERYBODY if worker_id is None else str(worker_id)))


def _tell(whom: str) -> None:
    global _rests_until
    for callback in _listeners:
        callback()
    url = config.get().redis_url
    if not url or clock.monotonic() < _rests_until:
        return
    try:
        _publisher(url).publish(CHANNEL, whom)
    except (redis.RedisError, OSError):
        _rests_until = clock.monotonic() + REST_SECONDS


def _publisher(url: str) -> redis.Redis:
    """This process's client; a forked child makes one of its own."""
    global _client
    if _client is None or _client[:2] != (os.getpid(), url):
        _client = (os.getpid(), url, _connect(url, SEND_SECONDS))
    return _client[2]


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
    """Calls back for every hint, from a thread of its own; once more after a gap in which some were lost."""

    name = "hints"

    def __init__(self, callback: Callback, whoami: Callable[[], UUID | None] = lambda: None) -> None:
        super().__init__()
        self._callback = callback
        self._whoami = whoami
        self._pubsub: Any = None

    def start(self) -> None:
        global _listeners
        _listeners = (*_listeners, self._callback)
        if config.get().redis_url:
            super().start()

    def stop(self, timeout: float | None = 10.0) -> bool:
        global _listeners
        _listeners = tuple(c for c in _listeners if c is not self._callback)
        ended = super().stop(timeout)
        self._forget()
        return ended

    def step(self) -> bool:
        if self._pubsub is None:
            client = _connect(config.get().redis_url, 5.0)
            pubsub = client.pubsub(ignore_subscribe_messages=True)
            pubsub.subscribe(CHANNEL)
            self._pubsub = pubsub
            self._callback()
        message = self._pubsub.get_message(timeout=LISTEN_SECONDS)
        if message and message.get("type") == "message" and self._concerns(message.get("data")):
            self._callback()
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
