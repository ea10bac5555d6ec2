"""What is known about a schedule's slots before a round, and what the round makes of them. Pure."""

from __future__ import annotations

from dataclasses import dataclass, field
from datetime import datetime

from scheduler.states import Status


@dataclass(frozen=True, slots=True)
class Cursor:
    """How far the slots are decided: every one up to ``last_planned_at``, a mark that never falls.

    ``fired``: slots fired so far; ``last_fired_at``: the last of them (planned); ``episode``: late slots fired in
    this catch-up; ``skips``: slots that somebody wants skipped; ``dropped_until``: the end of a pause whose slots
    are dropped; ``decided``: stretches (first slot, last slot) after ``last_planned_at`` whose slots have their
    decision already, because somebody triggered them by name or because the clock went back.
    """

    last_planned_at: datetime
    last_fired_at: datetime | None = None
    fired: int = 0
    episode: int = 0
    skips: frozenset[datetime] = frozenset()
    dropped_until: datetime | None = None
    decided: tuple[tuple[datetime, datetime], ...] = ()


@dataclass(frozen=True, slots=True)
class Fire:
    """A slot to be run. Its work is ``(window_start, planned_at]``; ``origin``: live or catch_up."""

    planned_at: datetime
    window_start: datetime | None
    origin: str


@dataclass(frozen=True, slots=True)
class Decision:
    """Slots that do not run, from ``planned_at`` to ``planned_until`` (the same for one), and why."""

    status: Status
    reason: str
    planned_at: datetime
    planned_until: datetime
    count: int = 1


@dataclass(frozen=True, slots=True)
class Plan:
    """``fires`` and ``decisions``, each in the order of their slots; ``cursor`` as it is once they are written.

    ``next_due``: when to plan again (``now`` or earlier: at once), None for never. ``next_slot``: the next slot that
    nobody wants skipped, for people to read.
    """

    fires: tuple[Fire, ...]
    decisions: tuple[Decision, ...]
    cursor: Cursor
    next_due: datetime | None
    next_slot: datetime | None = field(default=None)
