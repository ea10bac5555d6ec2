"""Retention: ended jobs go when their time has passed, in small batches, each a short transaction."""

from __future__ import annotations

from datetime import datetime
from uuid import UUID

from django.db import transaction
from django.db.models import Exists, OuterRef, QuerySet

from jobsplatform.kernel import audit, clock
from jobsplatform.kernel import retention as kernel_retention
from jobsplatform.kernel.audit import Actor
from tasks import external, limits
from tasks.filters import JobFilter
from tasks.live import tickets
from tasks.models import DispatchLock, IdempotencyKey, Job, JobAttempt
from tasks.states import ACTIVE, FINAL

_LOCK_PREFIX_OF_KEYS = "3:"


def prune(now: datetime, batch: int = 500) -> int:
    """Remove one batch of whatever has outlived its retention; returns how many jobs went.

    A child whose parent has not ended stays, because the parent still reads it; so does a leader whose aliases
    have not been settled.
    """
    removed = _remove(
        Job.objects.filter(purge_at__lte=now, state__in=sorted(FINAL)).order_by("purge_at"), batch
    )
    _prune_keys(now, batch)
    external.prune(now, batch)
    tickets.prune(now, batch)
    kernel_retention.prune(now, batch)
    return removed


def purge(
    wanted: JobFilter, *, actor: Actor, dry_run: bool = False, batch: int = 500, now: datetime | None = None
) -> int:
    """Remove ended jobs that match, whatever their retention; returns how many (with ``dry_run``: would go)."""
    rows = _removable(wanted.queryset().filter(state__in=sorted(FINAL)))
    if dry_run:
        return rows.count()
    total = 0
    while removed := _remove(rows.order_by("id"), batch):
        total += removed
    after = {"removed": total, "at": now or clock.now(), "filter": wanted.as_mapping()}
    audit.record("jobs.purge", "jobs", "filter", actor=actor, after=after)
    return total


def _removable(rows: QuerySet[Job]) -> QuerySet[Job]:
    active = sorted(ACTIVE)
    open_parent = Job.objects.filter(id=OuterRef("parent_id"), state__in=active)
    open_alias = Job.objects.filter(leader_id=OuterRef("pk"), state__in=active)
    return rows.filter(~Exists(open_parent), ~Exists(open_alias))


@transaction.atomic
def _remove(rows: QuerySet[Job], batch: int) -> int:
    locked = _removable(rows).select_for_update(skip_locked=True, of=("self",))
    ids: list[UUID] = list(locked.values_list("id", flat=True)[:batch])
    if not ids:
        return 0
    using = rows.db
    JobAttempt.objects.filter(job_id__in=ids)._raw_delete(using)
    # Children and aliases keep the id of a parent or leader that is gone: a fact, not a reference to follow.
    return int(Job.objects.filter(id__in=ids)._raw_delete(using) or 0)


def _prune_keys(now: datetime, batch: int) -> None:
    expired = IdempotencyKey.objects.filter(expires_at__lte=now).values_list("id", flat=True)[:batch]
    IdempotencyKey.objects.filter(id__in=list(expired)).delete()
    locks = DispatchLock.objects.filter(name__startswith=_LOCK_PREFIX_OF_KEYS).order_by("?")[:batch]
    for lock in locks:
        tenant, app, key = limits.key_of_lock(lock.name)
        active = Job.objects.filter(
            tenant_id=tenant, app_id=app, concurrency_key=key, state__in=sorted(ACTIVE)
        )
        if not active.exists():
            lock.delete()
