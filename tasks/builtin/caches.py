"""Caches of configuration that is kept elsewhere, which ``maintenance.refresh_caches`` refreshes.

An app registers one, best in its ``jobs.py``: ``register_cache("exchange-rates", load_rates)``. The function
runs in the worker that runs the job: it must fill a cache that all processes share (database, Redis, a file).
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from jobsplatform.kernel.errors import ConfigError, UnknownName

Refresh = Callable[[], Any]

_caches: dict[str, Refresh] = {}


def register_cache(name: str, refresh: Refresh) -> None:
    """Make a cache known. Raises ConfigError when another function has the name."""
    global _caches
    known = _caches.get(name)
    if known is not None and known is not refresh:
        raise ConfigError(
            f"Two caches are called {name!r}: {_place(known)} and {_place(refresh)}. Rename one."
        )
    _caches = {**_caches, name: refresh}


def unregister_cache(name: str) -> None:
    """Forget a cache; an unknown name is no fault."""
    global _caches
    _caches = {known: refresh for known, refresh in _caches.items() if known != name}


def names() -> list[str]:
    """All caches, by name."""
    return sorted(_caches)


def get(name: str) -> Refresh:
    """The function of a cache. Raises UnknownName with the nearest."""
    try:
        return _caches[name]
    except KeyError:
        raise UnknownName("cache", name, _caches) from None


def _place(refresh: Refresh) -> str:
    code = getattr(refresh, "__code__", None)
    return f"{code.co_filename}:{code.co_firstlineno}" if code else repr(refresh)
