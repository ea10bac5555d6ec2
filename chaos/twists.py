"""What is wrong with a worker's surroundings: its clock, its broker. The platform itself is as shipped."""

from __future__ import annotations

import datetime as datetimes
import sys
import time
from collections.abc import Callable
from typing import Any

COPIES = 5


def deliver_five_times(app: Any, _: str) -> None:
    """Every message that this worker sends is sent five times."""
    send = app.send_task

    def send_often(*args: Any, **options: Any) -> Any:
        return [send(*args, **options) for _ in range(COPIES)][0]

    app.send_task = send_often


def soon_visible_again(app: Any, _: str) -> None:
    """The broker gives messages back after a second, whoever works on them."""
    app.conf.broker_transport_options = {
        **app.conf.broker_transport_options,
        "visibility_timeout": 1,
        "unacked_restore_interval": 1,
        "unacked_restore_throttle": 1,
    }


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
    "visible": soon_visible_again,
    "timeout": time_out_soon,
    "clock": turn_clock,
}
