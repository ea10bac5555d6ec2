"""A decision about a slot, as the trigger log keeps it."""

from __future__ import annotations

from datetime import datetime
from typing import NamedTuple
from uuid import UUID

from scheduler.events import SlotDecided
from scheduler.requests import ScheduleTriggerResult
from scheduler.states import Status


class Slot(NamedTuple):
    """A slot, or a run of slots, and what was decided: a row of the trigger log, whose columns these are."""

    id: UUID
    schedule_id: str
    tenant_id: str
    planned_at: datetime | None
    planned_until: datetime | None
    slot_count: int
    origin: str
    triggered_at: datetime
    status: str
    reason: str
    task_id: UUID | None
    task_type: str
    request_id: str
    trace_id: str
    error: str
    revision: int
    decided_by: str
    lock_key: str
    fencing_token: int | None
    purge_at: datetime | None

    def result(self, *, replayed: bool = False) -> ScheduleTriggerResult:
        """The answer to whoever asked for it."""
        return ScheduleTriggerResult(
            ok=self.status != Status.FAILED,
            schedule_id=self.schedule_id,
            tenant_id=self.tenant_id,
            task_id=str(self.task_id) if self.task_id else "",
            task_type=self.task_type,
            status=str(self.status),
            planned_at=self.planned_at,
            triggered_at=self.triggered_at,
            replayed=replayed,
            reason=self.reason,
            error=self.error,
            request_id=self.request_id,
            trace_id=self.trace_id,
        )

    def event(self) -> SlotDecided:
        """The fact to be told once it is committed."""
        late = (self.triggered_at - self.planned_at).total_seconds() if self.planned_at else 0.0
        return SlotDecided(
            schedule_id=self.schedule_id,
            tenant_id=self.tenant_id,
            planned_at=self.planned_at,
            status=str(self.status),
            origin=self.origin,
            reason=self.reason,
            slots=self.slot_count,
            planned_until=self.planned_until,
            task_id=self.task_id,
            task_type=self.task_type,
            error=self.error,
            decided_by=self.decided_by,
            late_ms=round(late * 1000, 3),
        )
