"""Many jobs cancelled in one short transaction: those that do not run, and that nothing but their parent hangs on."""

from __future__ import annotations

from collections.abc import Collection
from datetime import datetime
from uuid import UUID

from django.db import transaction

from jobsplatform.kernel import audit
from jobsplatform.kernel.audit import Actor
from jobsplatform.kernel.db import after_commit, retry_deadlocks
from tasks import call_off, family, hints
from tasks.models import Job
from tasks.states import ACTIVE, CancelReason, State

_BETWEEN_RUNS = sorted(ACTIVE - {State.RUNNING})
_KNOWN = (
    "id",
    "app_id",
    "job_type",
    "handler_key",
    "state",
    "lease",
    "queue",
    "worker_id",
    "parent_id",
    "tenant_id",
)


@retry_deadlocks
@transaction.atomic
def cancel_together(
    job_ids: Collection[UUID], reason: CancelReason, actor: Actor, now: datetime
) -> frozenset[UUID]:
    """Cancel those of these jobs that can be cancelled together; which they were. Each is audited.

    The others (running, with a key of any kind, urgent) are left as they are.
    """
    rows = Job.objects.select_for_update().filter(call_off.PLAIN, id__in=job_ids, state__in=_BETWEEN_RUNS)
    jobs = list(rows.only(*_KNOWN).order_by("id"))
    if not jobs:
        return frozenset()
    call_off.cancel_plain(jobs, reason, now)
    audit.record_each(
        "job.cancel",
        "job",
        [(job.id, job.tenant_id, job.app_id, {"state": job.state}) for job in jobs],
        actor=actor,
        after={"how": "cancelled", "reason": str(reason)},
        at=now,
    )
    parents = {job.parent_id for job in jobs if job.parent_id is not None}
    after_commit(lambda: _let_go(parents, now))
    return frozenset(job.id for job in jobs)


def _let_go(parents: Collection[UUID], now: datetime) -> None:
    for parent_id in parents:
        family.release(parent_id, now)
    hints.wake()
