"""Which of several jobs of one overlap key start, wait or give way. Pure.

A key is occupied by a job that was let through and has not ended. The policy of each job that waits speaks for
itself alone, so an edited schedule's jobs of both policies go together.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from tasks.states import Overlap


@dataclass(frozen=True, slots=True)
class Decision:
    """Positions among those that wait: ``start`` is let through, ``drop`` are cancelled, the others go on waiting.
    ``stop``: those that occupy the key are asked to stop."""

    start: int | None = None
    drop: tuple[int, ...] = ()
    stop: bool = False


def decide(occupied: bool, held: Sequence[str]) -> Decision:
    """What becomes of jobs that wait, given their policies, oldest first."""
    if not held:
        return Decision()
    pushing = [n for n, policy in enumerate(held) if policy == Overlap.CANCEL_OTHER]
    first = pushing[-1] if pushing else 0
    drop, waiting = list(range(first)), 0
    for n in range(first, len(held)):
        if n == first and (pushing or not occupied):
            waiting += bool(occupied)
        elif held[n] == Overlap.SKIP or (held[n] == Overlap.BUFFER_ONE and waiting):
            drop.append(n)
        else:
            waiting += 1
    return Decision(None if occupied else first, tuple(drop), stop=occupied and bool(pushing))
