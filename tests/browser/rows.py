"""Legal rows in any state, made directly: what a page shows does not depend on how it came about."""

from datetime import datetime, timedelta
from typing import Any
from uuid import uuid4

from jobsplatform.kernel import clock
from tasks.models import Job, JobAttempt
from tasks.states import FINAL, IN_FLIGHT, Cause, State


def make_job(state: State = State.PENDING, job_type: str = "demo.report", **columns: Any) -> Job:
    """One stored job in ``state``, with what that state implies."""
    job = build_job(state, job_type, **columns)
    job.save(force_insert=True)
    return job


def build_job(state: State = State.PENDING, job_type: str = "demo.report", **columns: Any) -> Job:
    """The same, not stored."""
    now: datetime = columns.pop("now", None) or clock.now()
    app_id = columns.get("app_id", "")
    implied: dict[str, Any] = {"created_at": now, "due_at": now, "updated_at": now}
    if state in IN_FLIGHT:
        implied |= {"worker_id": uuid4(), "lease": 1, "dispatched_at": now}
    if state in {State.RUNNING, State.WAITING, State.PAUSED, State.COMPLETED, State.FAILED}:
        implied |= {"started_at": now, "first_started_at": now, "attempt": 1, "lease": 1}
    if state in FINAL:
        implied |= {"finished_at": now + timedelta(seconds=2)}
    if state == State.FAILED:
        implied |= {
            "cause": Cause.HANDLER,
            "error_type": "ValueError",
            "error": "the report is empty",
            "failures": 1,
        }
    return Job(job_type=job_type, handler_key=f"{app_id}:{job_type}", state=state, **{**implied, **columns})


def make_attempt(job: Job, lease: int = 1, outcome: str = "complete", **columns: Any) -> JobAttempt:
    """One ended run of a job, of two seconds."""
    start = columns.pop("started_at", job.created_at)
    given = {"number": 1, "worker": "worker-1", "finished_at": start + timedelta(seconds=2), **columns}
    return JobAttempt.objects.create(job=job, lease=lease, outcome=outcome, started_at=start, **given)
