"""One dedupe key, one leader: what becomes of a job that meets an active one with its key.

The partial unique indexes decide: a row is inserted as leader (or successor) with ON CONFLICT DO NOTHING, and
looked for afterwards. Whoever lost joins the winner, by the mode of the type.
"""

from __future__ import annotations

from datetime import datetime
from uuid import UUID

from jobsplatform.kernel import clock
from jobsplatform.kernel.errors import DuplicateJob, PlatformError
from tasks import followers, transitions
from tasks.models import Job
from tasks.retention import purge_after
from tasks.states import ACTIVE, CancelReason, Dedupe, Hold, Role, State

_TRIES = 50


def identity(job: Job) -> tuple[str, str, str, str]:
    """What is deduplicated: a key counts within its tenant, app and type."""
    return (job.tenant_id, job.app_id, job.job_type, job.dedupe_key)


def insert(row: Job, now: datetime) -> tuple[str, UUID | None]:
    """Store ``row`` as leader, alias or successor; returns which (``created`` for a leader), and its leader.

    Raises DuplicateJob in mode ``reject``. Runs inside a transaction.
    """
    due = row.hold
    for _ in range(_TRIES):
        row.role, row.hold, row.leader_id = Role.LEADER, due, None
        if _inserted(row):
            return "created", None
        leader = find_leader(row)
        if leader is None:
            continue  # it ended in this moment: the key is free again
        if row.dedupe == Dedupe.REJECT:
            raise DuplicateJob(
                f"Job {leader} of type {row.job_type} is active with dedupe key {row.dedupe_key!r}.",
                job_id=str(leader),
            )
        if row.dedupe == Dedupe.ALIAS:
            row.role, row.hold, row.leader_id = Role.ALIAS, Hold.ALIAS, leader
            Job.objects.bulk_create([row])
            return "alias", leader
        _supersede(row, now)
        row.role, row.hold = Role.SUCCESSOR, Hold.SUCCESSOR
        if _inserted(row):
            return "successor", leader
    raise PlatformError(
        f"Dedupe key {row.dedupe_key!r} changes hands faster than a job can join it. Try again."
    )


def _inserted(row: Job) -> bool:
    Job.objects.bulk_create([row], ignore_conflicts=True)
    return Job.objects.filter(id=row.id).exists()


def find_leader(row: Job) -> UUID | None:
    """The active leader of this row's key."""
    tenant, app, job_type, key = identity(row)
    rows = Job.objects.filter(
        tenant_id=tenant,
        app_id=app,
        job_type=job_type,
        dedupe_key=key,
        role=Role.LEADER,
        state__in=sorted(ACTIVE),
    )
    return rows.values_list("id", flat=True).first()


def _supersede(row: Job, now: datetime) -> None:
    """The older successor gives way to a newer one."""
    tenant, app, job_type, key = identity(row)
    older = Job.objects.filter(
        tenant_id=tenant,
        app_id=app,
        job_type=job_type,
        dedupe_key=key,
        role=Role.SUCCESSOR,
        state=State.PENDING,
    )
    for job in older.order_by("id"):
        keep = purge_after(job, State.CANCELLED)
        transitions.cancel(job.id, CancelReason.SUPERSEDED, now, purge_after=keep)


def check(job_id: UUID) -> bool:
    """After the commit of an alias or successor: settle it now if its leader has ended in between."""
    return followers.check(job_id, clock.now())
