"""What every timetable can say. Pure; every instant is aware, in UTC, on a whole second.

The laws that hold for all of them: ``next`` strictly increases; ``next``, ``previous`` and ``matches`` agree;
``count`` is the number of slots that ``next`` would walk through.
"""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime
from typing import Protocol


@dataclass(frozen=True, slots=True, order=True)
class Run:
    """``count`` slots from ``first`` to ``last`` (the same for one)."""

    first: datetime
    last: datetime
    count: int


class Timetable(Protocol):
    """The rule of when."""

    def next(self, after: datetime) -> datetime | None:
        """The first slot strictly after ``after``; None when there is none (any more)."""
        ...

    def previous(self, before: datetime) -> datetime | None:
        """The last slot strictly before ``before``; None when there is none."""
        ...

    def matches(self, at: datetime) -> bool:
        """Whether ``at`` is a slot."""
        ...

    def count(self, after: datetime, until: datetime) -> int:
        """How many slots lie in (after, until], exactly, at a cost that does not grow with their number."""
        ...

    def due(self, slot: datetime) -> datetime:
        """When the job of ``slot`` may start: the slot itself, or later by its jitter, and before the next slot."""
        ...

    def excluded(self, after: datetime, until: datetime) -> list[Run]:
        """Slots of the rule in (after, until] that exclusion dates take out, oldest first: a run for each date (no
        slot that is left lies inside a run), at a cost that grows with the dates, not with their slots."""
        ...

    @property
    def expression(self) -> str:
        """The rule as text, normalised."""
        ...

    @property
    def follows_end(self) -> bool:
        """Whether ``next`` wants the end of the last job: then one slot is to come, without backlog; ``previous`` is
        None and ``count`` at most 1."""
        ...
