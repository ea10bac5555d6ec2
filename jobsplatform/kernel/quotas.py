"""How much of a thing a minute: counted in Redis for all processes where there is one, else in each process.

A process takes a tenth of a second's worth of a large quota at once and spends it by itself, so that not every call
waits for Redis.

A quota is a bucket that fills evenly and holds a minute's worth. Whatever begins while one is left is let through
whole, so that a batch larger than the bucket passes too, and is waited for afterwards.
"""

from __future__ import annotations

import math
import os
import threading
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import redis
from redis.backoff import NoBackoff
from redis.retry import Retry

from jobsplatform.kernel import clock, config
from jobsplatform.kernel.errors import InvalidInput, UnknownName

MINUTE = 60.0
PREFIX = "jobsplatform:quota:"
REST_SECONDS = 2.0
"""After Redis did not answer, each process counts for itself for so long."""

LOT_SECONDS = 0.1
MOST_KEYS = 10_000
SLACK = 1e-6

# The bucket is kept as the instant at which it will be full again: one number, one step.
TAKE = """
local t = redis.call('time')
local now = tonumber(t[1]) + tonumber(t[2]) / 1000000
local full = math.max(tonumber(redis.call('get', KEYS[1]) or '0'), now)
local cost, rate = tonumber(ARGV[1]), tonumber(ARGV[2])
local wait = full + 1 / rate - now - 60
if wait > 0.000001 then return string.format('%.6f', wait) end
full = full + cost / rate
redis.call('set', KEYS[1], string.format('%.6f', full), 'EX', math.ceil(full - now) + 1)
return ''
"""


@dataclass(frozen=True, slots=True)
class Quotas:
    """What one app may do: jobs created and events told in a minute, bytes of a request's body."""

    creates_per_minute: int
    events_per_minute: int
    payload_bytes: int

    @classmethod
    def of(cls, own: Mapping[str, Any]) -> Quotas:
        """The settings, with what the app has of its own put before; what cannot be read there is left aside."""
        bus = config.get().bus
        values = {
            "creates_per_minute": bus.creates_per_minute,
            "events_per_minute": bus.events_per_minute,
            "payload_bytes": bus.body_max_bytes,
        }
        for name in values:
            value = own.get(name) if isinstance(own, Mapping) else None
            if isinstance(value, int) and not isinstance(value, bool) and value > 0:
                values[name] = value
        return cls(**values)


NAMES = ("creates_per_minute", "events_per_minute", "payload_bytes")


def check(own: Any) -> dict[str, int]:
    """An app's own quotas from a form or command. Raises InvalidInput, UnknownName with the nearest."""
    if not isinstance(own, Mapping):
        raise InvalidInput(f"quotas: expected an object of {', '.join(NAMES)}, got a {type(own).__name__}.")
    for name, value in own.items():
        if name not in NAMES:
            raise UnknownName("quota", str(name), NAMES)
        if isinstance(value, bool) or not isinstance(value, int) or not 0 < value <= 10**9:
            raise InvalidInput(f"quotas: {name} is a whole number from 1 to 1000000000.")
    return dict(own)


def take(what: str, app_id: str, cost: int, per_minute: int) -> float:
    """Take ``cost`` from the app's bucket of ``what``: 0.0 when it was let through, else the seconds to wait."""
    key = f"{what}:{app_id}"
    url = config.get().redis_url
    if url:
        try:
            return _shared(url).take(key, cost, per_minute / MINUTE)
        except _Away:
            pass
    return _own.take(key, cost, per_minute / MINUTE)


def retry_after(seconds: float) -> int:
    """Whole seconds for a Retry-After header."""
    return max(1, math.ceil(seconds))


class _Away(Exception):
    """Redis does not answer."""


class _Local:
    """Buckets of this process."""

    def __init__(self) -> None:
        self._full: dict[str, float] = {}
        self._taking = threading.Lock()

    def take(self, key: str, cost: int, rate: float) -> float:
        with self._taking:
            now = clock.monotonic()
            full = max(self._full.get(key, now), now)
            wait = full + 1 / rate - now - MINUTE
            if wait > SLACK:
                return wait
            if len(self._full) >= MOST_KEYS:
                self._full = {name: at for name, at in self._full.items() if at > now}
            self._full[key] = full + cost / rate
            return 0.0

    def forget(self) -> None:
        with self._taking:
            self._full.clear()


class _Redis:
    """Buckets that all processes share."""

    def __init__(self, url: str) -> None:
        self.owner = (os.getpid(), url)
        client: Any = redis.Redis.from_url(
            url,
            socket_timeout=0.5,
            socket_connect_timeout=0.5,
            retry=Retry(NoBackoff(), 0),
            decode_responses=True,
        )
        self._take: Any = client.register_script(TAKE)
        self._rests_until = 0.0
        self._left: dict[str, int] = {}
        self._taking = threading.Lock()

    def take(self, key: str, cost: int, rate: float) -> float:
        with self._taking:
            left = self._left.pop(key, 0)
            if left >= cost:
                self._left[key] = left - cost
                return 0.0
        lot, wait = math.floor(rate * LOT_SECONDS), 0.0
        try:
            wait = self._ask(key, cost - left + lot, rate)
            left = lot if wait == 0 else left
        finally:
            self._keep(key, left)
        return wait

    def _ask(self, key: str, cost: int, rate: float) -> float:
        if clock.monotonic() < self._rests_until:
            raise _Away
        try:
            answer = self._take(keys=[PREFIX + key], args=[cost, rate])
        except (redis.RedisError, OSError):
            self._rests_until = clock.monotonic() + REST_SECONDS
            raise _Away from None
        return float(answer) if answer else 0.0

    def _keep(self, key: str, left: int) -> None:
        if not left:
            return
        with self._taking:
            if len(self._left) >= MOST_KEYS:
                self._left.clear()
            self._left[key] = self._left.get(key, 0) + left


_own = _Local()
_redis: _Redis | None = None


def _shared(url: str) -> _Redis:
    global _redis
    if _redis is None or _redis.owner != (os.getpid(), url):
        _redis = _Redis(url)
    return _redis


def forget() -> None:
    """Fill every bucket of this process (tests)."""
    _own.forget()
