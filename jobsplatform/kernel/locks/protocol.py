"""What every lock provider promises."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Protocol


@dataclass(frozen=True, slots=True)
class Lease:
    """A lock that was got. ``fence`` is larger than that of every earlier holder of the same key, so that
    whoever stores it can refuse a holder that was overtaken. Only ``token`` releases or renews."""

    key: str
    token: str
    fence: int


class LockProvider(Protocol):
    """Locks by key, each for a time to live in seconds.

    All three raise ``LockUnavailable`` when the store cannot be reached: that is neither "held" nor "free".
    """

    def acquire(self, key: str, ttl: float, owner: str = "") -> Lease | None:
        """The lock, or None while somebody else has it; never waits. ``owner`` is for people to read."""
        ...

    def renew(self, lease: Lease, ttl: float) -> bool:
        """``ttl`` seconds more, from now. False: it was lost, and perhaps somebody else has it."""
        ...

    def release(self, lease: Lease) -> bool:
        """Give it back. False: it had been lost already, and nobody else's lock was touched."""
        ...


@contextmanager
def held(provider: LockProvider, key: str, ttl: float, owner: str = "") -> Iterator[Lease | None]:
    """The lease (or None while it is held elsewhere) for a block; given back after it."""
    lease = provider.acquire(key, ttl, owner)
    try:
        yield lease
    finally:
        if lease is not None:
            provider.release(lease)
