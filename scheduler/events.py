"""Facts about schedules, emitted after commit (``jobsplatform.kernel.events.emit``)."""

from __future__ import annotations

from datetime import datetime
from uuid import UUID

from jobsplatform.kernel.events import event


@event
class SlotDecided:
    """A row of the trigger log was written. ``planned_at``: None for a run now without a slot; ``slots``: how many
    share the decision, up to ``planned_until``. ``late_ms``: from the (first) slot to the decision."""

    schedule_id: str
    tenant_id: str
    planned_at: datetime | None
    status: str
    origin: str = "auto"
    reason: str = ""
    slots: int = 1
    planned_until: datetime | None = None
    task_id: UUID | None = None
    task_type: str = ""
    error: str = ""
    decided_by: str = ""
    late_ms: float = 0.0


@event
class ScheduleFaulty:
    """A schedule cannot be planned and is parked; the others go on."""

    schedule_id: str
    fault: str


@event
class ScheduleMended:
    """A faulty schedule can be planned again."""

    schedule_id: str


@event
class ScheduleChanged:
    """``change``: created, updated, archived, restored or deleted. ``source``: code, admin, or outside (SQL)."""

    schedule_id: str
    change: str
    actor: str
    revision: int = 0
    source: str = ""


@event
class PauseChanged:
    """A pause was made (``open``) or lifted. ``scope``: all, tenant or schedule."""

    scope: str
    target: str
    open: bool
    author: str
    reason: str = ""
    automatic: bool = False


@event
class BackfillChanged:
    """A backfill was started, is done or was cancelled (``state``)."""

    backfill_id: UUID
    schedule_id: str
    tenant_id: str
    state: str
    total: int = 0
    submitted: int = 0
    passed_over: int = 0
    failed: int = 0
    note: str = ""


@event
class SchedulesOverdue:
    """The set of schedules whose slots nobody decides has changed; empty: all is well again. ``named`` is bounded,
    ``count`` is not."""

    named: tuple[str, ...]
    count: int
    oldest_seconds: float = 0.0
