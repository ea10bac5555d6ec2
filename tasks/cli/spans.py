"""Lengths of time and sizes, as people read them."""

from __future__ import annotations

from datetime import UTC, datetime


def length(seconds: float) -> str:
    """``12ms``, ``1.4s``, ``4m30s``, ``2h05m``, ``3d04h``."""
    seconds = max(0.0, seconds)
    if seconds < 1:
        return f"{seconds * 1000:.0f}ms"
    if seconds < 60:
        return f"{seconds:.1f}s"
    whole = round(seconds)
    if whole < 3600:
        return f"{whole // 60}m{whole % 60:02}s"
    if whole < 86_400:
        return f"{whole // 3600}h{whole % 3600 // 60:02}m"
    return f"{whole // 86_400}d{whole % 86_400 // 3600:02}h"


def age(then: datetime | None, now: datetime) -> str:
    """How long ago ``then`` was; empty for None; ``in 5m00s`` for what is to come."""
    if then is None:
        return ""
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
