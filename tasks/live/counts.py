"""What this process has pushed, for the numbers page."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(slots=True)
class Counts:
    """``connections``: open now; the others count up."""

    connections: int = 0
    frames: int = 0
    resyncs: int = 0
    refused: int = 0


COUNTS = Counts()
