"""Named locks: they keep rivals quiet. The proof that something happened once is always a unique key."""

from __future__ import annotations

from jobsplatform.kernel import config
from jobsplatform.kernel.errors import LockUnavailable
from jobsplatform.kernel.locks.database import DatabaseLocks
from jobsplatform.kernel.locks.memory import MemoryLocks
from jobsplatform.kernel.locks.protocol import Lease, LockProvider, held
from jobsplatform.kernel.locks.redis import RedisLocks

__all__ = [
    "DatabaseLocks",
    "Lease",
    "LockProvider",
    "LockUnavailable",
    "MemoryLocks",
    "RedisLocks",
    "get_provider",
    "held",
]

_providers: dict[tuple[str, str], LockProvider] = {}


def get_provider() -> LockProvider:
    """The provider that the configuration names, one for the whole process."""
    settings = config.get()
    name = settings.lock_provider
    key = (name, settings.redis_url if name == "redis" else "")
    provider = _providers.get(key)
    if provider is None:
        provider = _providers.setdefault(key, _make(name, settings.redis_url))
    return provider


def _make(name: str, redis_url: str) -> LockProvider:
    if name == "redis":
        return RedisLocks(redis_url)
    return MemoryLocks() if name == "memory" else DatabaseLocks()
