"""Wrong tokens by address: who tries many is not looked at for the rest of a minute. Counted in each process."""

from __future__ import annotations

import threading

from jobsplatform.kernel import audit, clock
from jobsplatform.kernel.audit import Actor

MOST = 60
"""Wrong tokens from one address within a window."""
WINDOW_SECONDS = 60.0
MOST_ADDRESSES = 10_000

_counted: dict[str, tuple[float, int]] = {}  # when its window began, and how many since
_changing = threading.Lock()


def closed_for(address: str) -> float:
    """Seconds until tokens from this address are looked at again; 0.0 when they are."""
    began, count = _counted.get(address, (0.0, 0))
    left = began + WINDOW_SECONDS - clock.monotonic()
    return left if count >= MOST and left > 0 else 0.0


def note(address: str) -> None:
    """A token from this address was wrong. The one that closes it is recorded in the audit trail."""
    now = clock.monotonic()
    with _changing:
        began, count = _counted.get(address, (now, 0))
        if now - began >= WINDOW_SECONDS:
            began, count = now, 0
        if len(_counted) >= MOST_ADDRESSES:
            _counted.clear()
        _counted[address] = (began, count + 1)
    if count + 1 == MOST:
        actor = Actor("unknown", "bus", ip=address)
        audit.record("bus.tokens_guessed", "address", address, actor=actor, error=f"{MOST} wrong tokens")


def forget() -> None:
    """Begin anew (tests)."""
    with _changing:
        _counted.clear()
