"""The one shape of a trigger, whoever asks for it, and of what became of it. Instants are aware, ids are text."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from jobsplatform.kernel.instants import text
from scheduler.states import ORIGIN_AUTO


@dataclass(frozen=True, slots=True)
class ScheduleTriggerRequest:
    """One slot of a schedule, or one run without a slot.

    With ``planned_at`` the slot's one decision is made, or given again; without it ``origin`` has to be
    ``manual:<key>`` or another one of the caller's own, and each such origin makes one job. ``params``: instead of
    the schedule's own. ``force``: an unfinished job of an exclusive type does not stop it, it waits for its turn;
    the handler sees it too. ``by``: who or what asks, for the log.
    """

    schedule_id: str
    tenant_id: str = ""
    planned_at: datetime | None = None
    origin: str = ORIGIN_AUTO
    params: Mapping[str, Any] | None = None
    force: bool = False
    job_origin: str = "live"  # live, catch_up, backfill, manual
    window_start: datetime | None = None
    user_id: str = ""
    by: str = ""
    lock_key: str = ""
    fencing_token: int | None = None
    request_id: str = ""  # empty: one is made
    traceparent: str = ""


@dataclass(frozen=True, slots=True)
class ScheduleTriggerResult:
    """What became of a slot or a run. ``ok``: it is decided, and not as failed; ``replayed``: it was decided before;
    ``task_id`` is empty when no job was made."""

    ok: bool
    schedule_id: str
    tenant_id: str
    task_id: str
    task_type: str
    status: str
    planned_at: datetime | None
    triggered_at: datetime
    replayed: bool = False
    reason: str = ""
    error: str = ""
    request_id: str = ""
    trace_id: str = ""

    def as_dict(self) -> dict[str, Any]:
        """For programs: names are added, never renamed; instants are ISO 8601 in UTC, what is missing is None."""
        return {
            "ok": self.ok,
            "schedule_id": self.schedule_id,
            "tenant_id": self.tenant_id,
            "task_id": self.task_id or None,
            "task_type": self.task_type,
            "status": self.status,
            "planned_at": text(self.planned_at) if self.planned_at else None,
            "triggered_at": text(self.triggered_at),
            "replayed": self.replayed,
            "reason": self.reason,
            "error": self.error,
        }


@dataclass(frozen=True, slots=True)
class StepResult:
    """One round of the planner. ``checked``: schedules (for a tenant) that were planned; ``triggered``: jobs made;
    ``failed``: slots decided as failed and schedules parked; ``more``: look again at once; ``next_due_at``: look
    again then (None: nothing is to come)."""

    checked: int = 0
    triggered: int = 0
    failed: int = 0
    results: tuple[ScheduleTriggerResult, ...] = ()
    more: bool = False
    next_due_at: datetime | None = None
