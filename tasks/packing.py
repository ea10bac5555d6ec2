"""How many jobs one message carries. Pure.

When the backlog of a type is deep and its runs are known to be short, what a run costs is the message, the
commits and the round trips; a pack shares them. A pack is one message in one slot, and works for about
``PACK_SECONDS``, so that a more urgent job waits no longer than that for the slot.
"""

from __future__ import annotations

PACK_SECONDS = 0.25
PART_SECONDS = 0.05
"""A pack is started and finished in parts of so long: a cancel may come that late, and after a crash a finished
job of the last part may run again."""

MOST = 500
LINE = 64
"""How many single messages wait for one slot: what a worker needs in hand until a round has claimed more."""

LEAST = 4
"""Fewer are sent one by one: they start at once in the free slots."""

SHORT_SECONDS = 0.05
KNOWN_RUNS = 20
"""A type is known to be short after so many runs."""


def size(mean_seconds: float, runs: int, waiting: int, slots: int, most: int = MOST) -> int:
    """How many jobs of a type are to take turns in one slot: 1, or ``LEAST`` to ``most``.

    ``waiting``: claimable jobs of that type and priority (counted no further than needed); ``slots``: the live
    slots of the queue, among which the backlog is shared.
    """
    if runs < KNOWN_RUNS or mean_seconds > SHORT_SECONDS:
        return 1
    fits = most if mean_seconds * most <= PACK_SECONDS else int(PACK_SECONDS / mean_seconds)
    share = waiting // max(1, slots)
    chosen = min(most, fits, share)
    return chosen if chosen >= LEAST else 1


def part(mean_seconds: float) -> int:
    """How many jobs of a pack to start at once: about ``PART_SECONDS`` of work."""
    if mean_seconds * MOST <= PART_SECONDS:
        return MOST
    return max(1, int(PART_SECONDS / mean_seconds))
