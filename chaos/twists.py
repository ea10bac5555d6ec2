"""What is wrong with a worker's surroundings: its clock, its broker. The platform itself is as shipped."""

from __future__ import annotations

import datetime as datetimes
import json
import sys
import threading
import time
from collections import defaultdict
from collections.abc import Callable
from typing import Any
from uuid import uuid4

import redis
from kombu.transport.redis import Channel, Transport

from chaos import ledger

COPIES = 5

AGAIN_SECONDS = 1.0
AGAIN_TIMES = 3
"""How often at most one message comes back."""


def deliver_five_times(app: Any, _: str) -> None:
    """Every message of the platform that this process puts into a queue is put there five times."""
    put = Channel._put

    def put_often(channel: Any, queue: str, message: Any, **options: Any) -> None:
        put(channel, queue, message, **options)
        if _run_of(message):
            for _ in range(COPIES - 1):
                put(channel, queue, _copy(message), **options)

    Channel._put = put_often
    note_deliveries(app)


def deliver_again(app: Any, _: str) -> None:
    """Every message comes back a second after it was delivered, whoever works on it: what a broker does whose
    visibility timeout is shorter than the job, even to messages that were acknowledged."""
    app.conf.broker_transport_options = {
        **app.conf.broker_transport_options,
        "visibility_timeout": AGAIN_SECONDS,
        "unacked_restore_interval": 1,
        "unacked_restore_throttle": 1,
    }
    times: dict[str, int] = defaultdict(int)

    def come_back(queue: str, message: Any) -> None:
        client = redis.Redis.from_url(app.conf.broker_url)
        try:
            client.lpush(queue, json.dumps(_copy(message)))
        except redis.RedisError:
            pass  # the broker is away: then it gives nothing back either
        finally:
            client.close()

    def delivered(queue: str, message: Any, run: str) -> None:
        if times[run] < AGAIN_TIMES:
            times[run] += 1
            timer = threading.Timer(AGAIN_SECONDS, come_back, (queue, message))
            timer.daemon = True
            timer.start()

    note_deliveries(app, delivered)


def note_deliveries(_: Any, then: Callable[[str, Any, str], None] = lambda *_: None) -> None:
    """Each message of the platform that this process is delivered is written into the ledger."""
    deliver = Transport._deliver

    def deliver_noted(transport: Any, message: Any, queue: str) -> Any:
        if run := _run_of(message):
            job, _, lease = run.partition(":")
            ledger.append("delivered", job, int(lease), 0)
            then(queue, message, run)
        return deliver(transport, message, queue)

    Transport._deliver = deliver_noted


def _run_of(message: Any) -> str:
    """``job:lease`` or ``pack:0`` of a run message; empty for any other."""
    headers = message.get("headers") or {}
    return str(headers.get("id", "")) if headers.get("task") == "core.tasks.run" else ""


def _copy(message: Any) -> Any:
    """The same message under another tag, as the broker would know it."""
    return {**message, "properties": {**message["properties"], "delivery_tag": str(uuid4())}}


def time_out_soon(app: Any, seconds: str) -> None:
    """The broker's sockets give up after so many seconds, instead of ten."""
    app.conf.broker_transport_options = {
        **app.conf.broker_transport_options,
        "socket_timeout": float(seconds),
    }


def turn_clock(app: Any, seconds: str) -> None:
    """The machine's clock is wrong by so many seconds, for everything in this process that reads it."""
    wrong = float(seconds)
    true_time, true_time_ns = time.time, time.time_ns

    class Wrong(type):
        def __instancecheck__(cls, instance: object) -> bool:
            return isinstance(instance, datetimes.datetime)

    class WrongDatetime(datetimes.datetime, metaclass=Wrong):
        @classmethod
        def now(cls, tz: Any = None) -> Any:
            return datetimes.datetime.now(tz) + datetimes.timedelta(seconds=wrong)

        @classmethod
        def utcnow(cls) -> Any:
            return cls.now(datetimes.UTC).replace(tzinfo=None)

    time.time = lambda: true_time() + wrong
    time.time_ns = lambda: true_time_ns() + int(wrong * 1e9)
    for name, module in list(sys.modules.items()):
        if name.startswith(("jobsplatform", "tasks", "django.utils.timezone")):
            for attribute, value in list(vars(module).items()):
                if value is datetimes.datetime:
                    setattr(module, attribute, WrongDatetime)


TWISTS: dict[str, Callable[[Any, str], None]] = {
    "five": deliver_five_times,
    "again": deliver_again,
    "timeout": time_out_soon,
    "clock": turn_clock,
}
