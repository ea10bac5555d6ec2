"""Medians, percentiles and how many digits of a figure mean anything."""

from __future__ import annotations

from collections.abc import Sequence
from math import ceil, floor, log10

DIGITS = 4


def percentile(values: Sequence[float], percent: float) -> float:
    """The smallest value that at least ``percent`` of all are not above. Raises ValueError for none."""
    if not values:
        raise ValueError("no values")
    ordered = sorted(values)
    return ordered[max(0, ceil(len(ordered) * percent / 100) - 1)]


def significant(value: float) -> float:
    """``value`` with four significant digits."""
    if value == 0:
        return 0.0
    return round(value, DIGITS - 1 - floor(log10(abs(value))))
