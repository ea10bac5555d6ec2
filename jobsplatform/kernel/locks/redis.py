"""Locks in Redis: redis-py's lock, plus a fencing number."""

from __future__ import annotations

import secrets
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import redis
from redis.lock import Lock

from jobsplatform.kernel.database_url import shown
from jobsplatform.kernel.errors import LockUnavailable
from jobsplatform.kernel.locks.protocol import Lease

PREFIX = "jobsplatform:lock:"
FENCE_KEY = "jobsplatform:fence"

FENCE = """
if redis.call('get', KEYS[1]) ~= ARGV[1] then return false end
local now = redis.call('time')
local last = tonumber(redis.call('get', KEYS[2]) or '0')
local fence = string.format('%.0f', math.max(last + 1, now[1] * 1000000 + now[2]))
redis.call('set', KEYS[2], fence)
return fence
"""
"""Only whoever still holds the lock draws a number: one who stalled after taking it, and lost it, would
otherwise draw a larger one than its successor. Numbers follow the server's clock (microseconds) where that is
ahead of the counter, so that they grow even after the counter was lost with the server's memory."""


class RedisLocks:
    """Locks shared by all who reach one Redis (or Valkey) server. Commands time out after ``timeout`` s."""

    def __init__(self, url: str, timeout: float = 2.0) -> None:
        self._url = url
        self._client: Any = redis.Redis.from_url(
            url, socket_timeout=timeout, socket_connect_timeout=timeout, health_check_interval=30
        )
        self._fence: Any = self._client.register_script(FENCE)

    def acquire(self, key: str, ttl: float, owner: str = "") -> Lease | None:
        token = secrets.token_hex(16) + (f":{owner}" if owner else "")
        with self._reaching():
            if not self._lock(key, ttl).acquire(blocking=False, token=token):
                return None
            fence = self._fence(keys=[PREFIX + key, FENCE_KEY], args=[token])
            return None if fence is None else Lease(key, token, int(fence))

    def renew(self, lease: Lease, ttl: float) -> bool:
        with self._reaching():
            try:
                return bool(self._lock(lease.key, ttl, lease.token).extend(ttl, replace_ttl=True))
            except redis.exceptions.LockError:
                return False

    def release(self, lease: Lease) -> bool:
        with self._reaching():
            try:
                self._lock(lease.key, 1, lease.token).release()
            except redis.exceptions.LockError:
                return False
            return True

    def _lock(self, key: str, ttl: float, token: str = "") -> Lock:
        # The token is kept in the lease: whoever holds that may renew and release, in any thread.
        lock = Lock(self._client, PREFIX + key, timeout=ttl, thread_local=False)
        if token:
            lock.local.token = token.encode()
        return lock

    @contextmanager
    def _reaching(self) -> Iterator[None]:
        try:
            yield
        except redis.exceptions.LockError:
            raise
        except redis.exceptions.RedisError as error:
            raise LockUnavailable(
                f"The lock store {shown(self._url)} does not answer ({error}). Is Redis running, and is "
                "REDIS_URL right?",
                store="redis",
            ) from error
