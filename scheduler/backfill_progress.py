"""Where a backfill stands, and what is told of it."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime
from typing import Any
from uuid import UUID

from jobsplatform.kernel import audit, events
from jobsplatform.kernel.audit import Actor
from jobsplatform.kernel.instants import text
from scheduler.events import BackfillChanged
from scheduler.models import Backfill
from tasks import queries as jobs
from tasks.states import ACTIVE, State


@dataclass(frozen=True, slots=True)
class Progress:
    """Where a backfill stands. ``submitted`` = ``done`` + ``running`` + those of ``failed`` that had a job;
    ``total`` = ``submitted`` + ``passed_over`` + ``left`` + slots that could not be made a job."""

    state: str
    total: int
    submitted: int
    passed_over: int
    done: int
    failed: int
    running: int
    left: int
    note: str = ""

    def as_dict(self) -> dict[str, Any]:
        return {name: getattr(self, name) for name in self.__slots__}


def progress(backfill: Backfill) -> Progress:
    """Where it stands now: jobs that have ended since the last step are counted as ended."""
    done, failed, running = ended(backfill)
    looked_at = backfill.submitted + backfill.passed_over + _jobless(backfill)
    return Progress(
        backfill.state,
        backfill.total,
        backfill.submitted,
        backfill.passed_over,
        done,
        failed,
        len(running),
        max(backfill.total - looked_at, 0),
        backfill.note,
    )


def _jobless(backfill: Backfill) -> int:
    """Slots that could not be made a job: they failed without having been submitted."""
    return max(backfill.done + backfill.failed + len(backfill.open) - backfill.submitted, 0)


def ended(backfill: Backfill) -> tuple[int, int, list[str]]:
    """Jobs completed and failed so far, and the ids of those that have not ended."""
    states = jobs.states_of(UUID(job_id) for job_id in backfill.open)
    done, failed, running = backfill.done, backfill.failed, []
    for job_id in backfill.open:
        state = states.get(UUID(job_id))
        if state in ACTIVE:
            running.append(job_id)
        elif state in (State.COMPLETED, None):  # None: ended so long ago that retention has taken it
            done += 1
        else:
            failed += 1
    return done, failed, running


def end(row: Backfill, state: str, note: str, now: datetime) -> None:
    row.state = state
    row.ended_at = now
    row.next_look_at = None
    row.note = note[:500]


def told(row: Backfill, action: str, actor: Actor, now: datetime) -> None:
    """Audit what somebody did (``action``), and tell how it stands after the commit."""
    if action:
        facts = {
            "schedule_id": row.schedule_id,
            "after": text(row.after),
            "until": text(row.until),
            "mode": row.mode,
            "concurrency": row.concurrency,
            "state": row.state,
            "total": row.total,
            "submitted": row.submitted,
        }
        audit.record(action, "backfill", row.id, actor=actor, after=facts, tenant_id=row.tenant_id, at=now)
    events.emit(
        BackfillChanged(
            row.id,
            row.schedule_id,
            row.tenant_id,
            str(row.state),
            row.total,
            row.submitted,
            row.passed_over,
            row.failed,
            row.note,
        )
    )
