"""How a length of time is written. Pure."""

from __future__ import annotations

import math


def short(milliseconds: float) -> str:
    """``12ms``, ``1.4s``, ``4m30s``, ``2h05m``, ``3d04h``: two units at most, cut and never rounded up.

    Negative lengths (a clock stepped back) count as none; what is no number is ``?``.
    """
    if not math.isfinite(milliseconds):
        return "?"
    whole = int(max(milliseconds, 0.0))
    if whole < 1000:
        return f"{whole}ms"
    if whole < 60_000:
        return f"{whole // 100 / 10:.1f}s"
    seconds = whole // 1000
    if seconds < 3600:
        return f"{seconds // 60}m{seconds % 60:02}s"
    if seconds < 86_400:
        return f"{seconds // 3600}h{seconds % 3600 // 60:02}m"
    return f"{seconds // 86_400}d{seconds % 86_400 // 3600:02}h"
