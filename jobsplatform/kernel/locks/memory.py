"""Locks within one process."""

from __future__ import annotations

import secrets
import threading
from dataclasses import dataclass

from jobsplatform.kernel import clock
from jobsplatform.kernel.locks.protocol import Lease


@dataclass(frozen=True, slots=True)
class _Held:
    token: str
    until: float


class MemoryLocks:
    """For tests and single-process use; time is the clock's monotonic time."""

    def __init__(self) -> None:
        self._guard = threading.Lock()
        self._held: dict[str, _Held] = {}
        self._fence = 0

    def acquire(self, key: str, ttl: float, owner: str = "") -> Lease | None:
        with self._guard:
            now = clock.monotonic()
            if len(self._held) > 1000:
                self._held = {name: held for name, held in self._held.items() if held.until > now}
            there = self._held.get(key)
            if there is not None and there.until > now:
                return None
            self._fence += 1
            token = secrets.token_hex(16)
            self._held[key] = _Held(token, now + ttl)
            return Lease(key, token, self._fence)

    def renew(self, lease: Lease, ttl: float) -> bool:
        with self._guard:
            if not self._owns(lease):
                return False
            self._held[lease.key] = _Held(lease.token, clock.monotonic() + ttl)
            return True

    def release(self, lease: Lease) -> bool:
        with self._guard:
            if not self._owns(lease):
                return False
            del self._held[lease.key]
            return True

    def _owns(self, lease: Lease) -> bool:
        there = self._held.get(lease.key)
        return there is not None and there.token == lease.token and there.until > clock.monotonic()
