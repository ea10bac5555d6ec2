"""The pause that a schedule earns by failures in a row."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import datetime

from django.db import transaction

from jobsplatform.kernel.audit import Actor
from jobsplatform.kernel.db import after_commit
from scheduler import parking, pauses
from scheduler.models import Pause, Schedule
from scheduler.states import PauseScope
from tasks import queries
from tasks.states import State

AUTHOR = Actor.system("failures in a row")
PAGE = 50
"""Endings read at once beyond the number that is asked for: cancelled runs among them do not count."""


def after_failures(schedule: Schedule, tenant_id: str, now: datetime) -> Pause | None:
    """The pause of ``schedule`` once its last ``pause_after_failures`` runs for this tenant have all failed, made here
    if need be; None when it may fire. Called before it fires, with its state's lock in hand.

    Cancelled runs do not count, neither for nor against. Nor does what ended before the last pause was lifted: who
    resumes a schedule gives it the full number again. The pause stops the schedule for every tenant.
    """
    wanted = schedule.pause_after_failures
    if wanted is None:
        return None
    lifted = _last_lifted(schedule.id)
    failed = []
    for job_id, cause, reason in _failures(schedule.id, tenant_id, wanted, lifted):
        failed.append((job_id, cause, reason))
        if len(failed) == wanted:
            break
    else:
        return None
    job_id, cause, reason = failed[0]
    told = f"{wanted} failures in a row, the last: job {job_id} ({reason or cause})"
    row = pauses.pause_automatically(schedule.id, told, by=AUTHOR, now=now)
    parking.states_of(PauseScope.SCHEDULE, schedule.id).filter(tenant_id=tenant_id).update(next_due_at=None)
    # The other tenants' states may be in the hands of others, who wait for ours: not in this transaction.
    after_commit(lambda: _park_all(schedule.id))
    return row


def _last_lifted(schedule_id: str) -> datetime | None:
    rows = Pause.objects.filter(scope=PauseScope.SCHEDULE, target=schedule_id, lifted_at__isnull=False)
    return rows.order_by("-lifted_at").values_list("lifted_at", flat=True).first()


def _failures(
    schedule_id: str, tenant_id: str, wanted: int, since: datetime | None
) -> Iterator[tuple[object, str, str]]:
    """The unbroken run of failures at the end, newest first."""
    asked = wanted + PAGE
    seen = 0
    while True:
        ends = queries.recent_ends(schedule_id, tenant_id, asked)
        for job_id, state, cause, reason, finished_at in ends[seen:]:
            if state == State.COMPLETED or (since is not None and finished_at <= since):
                return
            if state == State.FAILED:
                yield job_id, cause, reason
        if len(ends) < asked:
            return
        seen, asked = len(ends), asked * 4


@transaction.atomic
def _park_all(schedule_id: str) -> None:
    parking.lock(PauseScope.SCHEDULE, schedule_id)
    if Pause.objects.filter(scope=PauseScope.SCHEDULE, target=schedule_id, lifted_at=None).exists():
        parking.park(PauseScope.SCHEDULE, schedule_id)
