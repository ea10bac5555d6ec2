"""Lengths of time and sizes, as people read them."""

from __future__ import annotations

from datetime import UTC, datetime

from jobsplatform.kernel.durations import short
from jobsplatform.kernel.instants import WORD, unreadable


def length(seconds: float) -> str:
    """``12ms``, ``1.4s``, ``4m30s``, ``2h05m``."""
    return short(max(0.0, seconds) * 1000)


def age(then: datetime | None, now: datetime) -> str:
    """How long ago ``then`` was; empty for None; ``in 5m00s`` for what is to come."""
    if then is None:
        return ""
    if unreadable(then):
        return WORD
    seconds = (now - then).total_seconds()
    return f"in {length(-seconds)}" if seconds < -0.5 else length(seconds)


def instant(when: datetime | None) -> str:
    """``2026-11-29 14:00:00 UTC``; empty for None."""
    return "" if when is None else when.astimezone(UTC).strftime("%Y-%m-%d %H:%M:%S UTC")


def size(count: float) -> str:
    """Bytes as ``512 B``, ``1.4 MiB``."""
    for unit in ("B", "KiB", "MiB", "GiB"):
        if abs(count) < 1024:
            return f"{count:.0f} {unit}" if unit == "B" else f"{count:.1f} {unit}"
        count /= 1024
    return f"{count:.1f} TiB"
