"""The answer to a question about a slot, for people and for programs."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime
from enum import StrEnum
from typing import Any

from jobsplatform.kernel.instants import text
from scheduler.log_reads import Entry


class Verdict(StrEnum):
    """How a question about a slot is answered, one word each."""

    DECIDED = "decided"
    NOT_DUE = "not_due"
    NOT_A_SLOT = "not_a_slot"
    PAUSED = "paused"
    BEHIND = "behind"
    FAULTY = "faulty"
    ARCHIVED = "archived"
    FINISHED = "finished"  # it has had all its runs
    OTHER_AUDIENCE = "other_audience"  # it does not plan for that tenant
    BEFORE = "before"  # the schedule did not exist
    EARLIER_RULE = "earlier_rule"  # an edit lies after it
    FORGOTTEN = "forgotten"  # decided, and past its retention
    UNRECORDED = "unrecorded"  # it should have been decided: a fault of ours, or of whoever writes our tables


@dataclass(frozen=True, slots=True)
class Answer:
    """``sentence`` is for people; ``chain`` names each fact on the way to it. ``decision``: the row of the trigger log
    that covers the instant, with its job and outcome. ``before`` and ``after``: the nearest slots."""

    verdict: Verdict
    sentence: str
    schedule_id: str
    tenant_id: str
    at: datetime
    decision: Entry | None = None
    chain: tuple[tuple[str, str], ...] = ()
    before: datetime | None = None
    after: datetime | None = None
    again: tuple[Entry, ...] = ()

    def as_dict(self) -> dict[str, Any]:
        """For programs: instants are ISO 8601 in UTC, ids are text, what is missing is None."""
        return {
            "schedule_id": self.schedule_id,
            "tenant_id": self.tenant_id,
            "at": text(self.at),
            "verdict": str(self.verdict),
            "sentence": self.sentence,
            "decision": _facts(self.decision),
            "again": [_facts(entry) for entry in self.again],
            "before": text(self.before) if self.before else None,
            "after": text(self.after) if self.after else None,
            "chain": [{"step": step, "fact": fact} for step, fact in self.chain],
        }


def _facts(entry: Entry | None) -> dict[str, Any] | None:
    if entry is None:
        return None
    row = entry.row
    return {
        "status": row.status,
        "reason": row.reason,
        "origin": row.origin,
        "planned_at": text(row.planned_at) if row.planned_at else None,
        "planned_until": text(row.planned_until) if row.planned_until else None,
        "slot_count": row.slot_count,
        "triggered_at": text(row.triggered_at),
        "decided_by": row.decided_by,
        "revision": row.revision,
        "error": row.error,
        "task_id": str(row.task_id) if row.task_id else None,
        "task_type": row.task_type,
        "outcome": str(entry.outcome) or None,
    }
