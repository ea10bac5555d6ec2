"""A store of locks that forgets everything, tells two owners the same, or does not answer."""

from __future__ import annotations

from jobsplatform.kernel.errors import LockUnavailable
from jobsplatform.kernel.locks import Lease, MemoryLocks


class LockStore:
    """``away``: nobody reaches it. ``split``: it is two stores, each with owners of its own."""

    def __init__(self) -> None:
        self.away = False
        self.split = False
        self._halves = (MemoryLocks(), MemoryLocks())

    def flush(self) -> None:
        """Nobody holds anything any more, and nobody is told."""
        self._halves = (MemoryLocks(), MemoryLocks())

    def half(self, side: int) -> MemoryLocks:
        """What somebody on that ``side`` reaches. Raises LockUnavailable."""
        if self.away:
            raise LockUnavailable("The simulated lock store is away.", store="simulated")
        return self._halves[side % 2 if self.split else 0]


class Side:
    """The store as one machine sees it."""

    def __init__(self, store: LockStore, side: int) -> None:
        self._store = store
        self._side = side

    def acquire(self, key: str, ttl: float, owner: str = "") -> Lease | None:
        return self._store.half(self._side).acquire(key, ttl, owner)

    def renew(self, lease: Lease, ttl: float) -> bool:
        return self._store.half(self._side).renew(lease, ttl)

    def release(self, lease: Lease) -> bool:
        return self._store.half(self._side).release(lease)
