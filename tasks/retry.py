"""How long to wait after a failure. Pure: no clock, no randomness; jitter comes from the job's id."""

from __future__ import annotations

import hashlib
import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Protocol

from jobsplatform.kernel.errors import ConfigError

LONGEST_SECONDS = 1e10
"""No wait is longer, some 317 years: an instant so far ahead can still be written."""


class DelayRule(Protocol):
    """Seconds (≥ 0) to wait after the ``failure``-th failure in a row (1 = first)."""

    def delay(self, failure: int, seed: str) -> float: ...


def _number(what: str, value: object, low: float, high: float = math.inf) -> float:
    if isinstance(value, bool) or not isinstance(value, (int, float)) or not math.isfinite(value):
        raise ConfigError(f"{what}: expected a number, got {value!r}.")
    if not low <= value <= high:
        limit = f"at least {low:g}" if high == math.inf else f"{low:g} to {high:g}"
        raise ConfigError(f"{what}: expected {limit}, got {value!r}.")
    return float(value)


def spread(seconds: float, jitter: float, failure: int, seed: str) -> float:
    """``seconds`` made shorter by up to ``jitter`` (a share); the same seed and failure give the same answer.

    Shorter, never longer, so that a maximum is one, and those at the maximum are spread as well.
    """
    if not jitter:
        return seconds
    digest = hashlib.sha256(f"{seed}:{failure}".encode()).digest()
    return seconds * (1 - jitter * int.from_bytes(digest[:8], "big") / 2**64)


@dataclass(frozen=True, slots=True)
class Backoff:
    """``base`` seconds after the first failure, ``factor`` times more after each next one, up to ``maximum``.

    Raises ConfigError when ``base`` is above ``maximum``: one of the two would silently not be meant.
    """

    base: float = 5.0
    factor: float = 2.0
    maximum: float = 3600.0
    jitter: float = 0.1

    def __post_init__(self) -> None:
        _number("Backoff(base)", self.base, 0, LONGEST_SECONDS)
        _number("Backoff(factor)", self.factor, 1)
        _number("Backoff(maximum)", self.maximum, 0, LONGEST_SECONDS)
        _number("Backoff(jitter)", self.jitter, 0, 1)
        if self.base > self.maximum:
            raise ConfigError(
                f"Backoff: base ({self.base:g} s) is above maximum ({self.maximum:g} s). "
                f"Say Backoff({self.base:g}, maximum=…) with a larger maximum, or a smaller base."
            )

    def delay(self, failure: int, seed: str) -> float:
        """Seconds to wait; never overflows, whatever ``failure`` is."""
        try:
            # A float on purpose: a whole number would grow without end instead of overflowing.
            grown = self.base * float(self.factor) ** max(0, failure - 1)
        except OverflowError:
            grown = self.maximum
        seconds = min(grown, float(self.maximum))
        return spread(seconds, self.jitter, failure, seed)


Exponential = Backoff


@dataclass(frozen=True, slots=True)
class Fixed:
    """The same wait after each failure."""

    seconds: float
    jitter: float = 0.0

    def __post_init__(self) -> None:
        _number("Fixed(seconds)", self.seconds, 0, LONGEST_SECONDS)
        _number("Fixed(jitter)", self.jitter, 0, 1)

    def delay(self, failure: int, seed: str) -> float:
        """Seconds to wait."""
        return spread(float(self.seconds), self.jitter, failure, seed)


@dataclass(frozen=True, slots=True)
class Table:
    """A wait for each failure; the last one is used for all that follow."""

    waits: Sequence[float]
    jitter: float = 0.0

    def __post_init__(self) -> None:
        if not isinstance(self.waits, (list, tuple)) or not self.waits:
            raise ConfigError(f"Table: expected a list of seconds such as [5, 60, 600], got {self.waits!r}.")
        for seconds in self.waits:
            _number("Table", seconds, 0, LONGEST_SECONDS)
        _number("Table(jitter)", self.jitter, 0, 1)
        object.__setattr__(self, "waits", tuple(self.waits))

    def delay(self, failure: int, seed: str) -> float:
        """Seconds to wait."""
        index = min(max(failure, 1), len(self.waits)) - 1
        return spread(float(self.waits[index]), self.jitter, failure, seed)


def rule_of(given: object) -> DelayRule:
    """A rule from the short spellings: a number is ``Fixed``, a list is ``Table``. Raises ConfigError."""
    if isinstance(given, (Backoff, Fixed, Table)):
        return given
    if isinstance(given, (list, tuple)):
        return Table(given)
    if isinstance(given, (int, float)) and not isinstance(given, bool):
        return Fixed(given)
    if callable(getattr(given, "delay", None)):
        return given  # type: ignore[return-value]
    raise ConfigError(f"backoff: expected Backoff(…), seconds or a list of seconds, got {given!r}.")
