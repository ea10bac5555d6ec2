"""Jobs that have waited past their latest start end as cancelled, and never begin.

Looked at when a worker claims, sends again or begins, and by the sweeper, so that a job does not stay pending where no
worker is. No clock but the caller's counts, and the start itself refuses such a row.
"""

from __future__ import annotations

from collections.abc import Iterable
from datetime import datetime
from uuid import UUID

from django.db import transaction

from jobsplatform.kernel.db import after_commit, retry_deadlocks
from tasks import call_off, finish
from tasks.late import is_late
from tasks.models import Job
from tasks.states import REASON_LATEST_START, CancelReason

_BATCH = 500


def end(job_ids: Iterable[UUID], now: datetime) -> int:
    """Cancel those of these jobs that are too late; how many that were."""
    return sum(_end(job_id, now) for job_id in job_ids)


@retry_deadlocks
@transaction.atomic
def _end(job_id: UUID, now: datetime) -> bool:
    job = Job.objects.select_for_update().filter(id=job_id, latest_start_at__lt=now).first()
    if job is None or not is_late(job, now):
        return False
    if not call_off.cancel(job, CancelReason.NONE, now, note=REASON_LATEST_START):
        return False
    after_commit(lambda: finish.let_go(job, "cancel", now))
    return True


def sweep(now: datetime) -> int:
    """The oldest of those that are too late."""
    rows = Job.objects.filter(
        latest_start_at__lt=now, first_started_at__isnull=True, finished_at__isnull=True
    ).order_by("latest_start_at")
    return end(list(rows.values_list("id", flat=True)[:_BATCH]), now)
