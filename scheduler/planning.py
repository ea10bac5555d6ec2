"""What to do about a schedule now: which slots fire, which are decided otherwise, when to look again. Pure."""

from __future__ import annotations

from dataclasses import dataclass, field
from datetime import datetime

from scheduler.policies import Policies
from scheduler.states import Status
from scheduler.timetables.base import Timetable


@dataclass(frozen=True, slots=True)
class Cursor:
    """How far the slots are decided. ``fired``: slots fired so far; ``last_fired_at``: the last of them (planned);
    ``episode``: slots fired in this catch-up; ``skips``: slots that somebody wants skipped; ``dropped_until``: the
    end of a pause whose slots are dropped."""

    last_planned_at: datetime
    last_fired_at: datetime | None = None
    fired: int = 0
    episode: int = 0
    skips: frozenset[datetime] = frozenset()
    dropped_until: datetime | None = None


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
    """``fires`` and ``decisions`` in the order of their slots; ``cursor`` as it is once they are written;
    ``next_due`` when to plan again (``now`` or earlier: at once), None for never."""

    fires: tuple[Fire, ...]
    decisions: tuple[Decision, ...]
    cursor: Cursor
    next_due: datetime | None
    next_slot: datetime | None = field(default=None)


def plan(timetable: Timetable, policies: Policies, cursor: Cursor, now: datetime) -> Plan:
    """Decide every slot after the cursor up to ``now`` that is to be decided in this round."""
    raise NotImplementedError
