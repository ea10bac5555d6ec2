"""Retention: decisions, ended backfills and lifted pauses go when their time has passed, in small batches."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from datetime import datetime, timedelta
from typing import Any
from uuid import UUID

from django.db import transaction

from jobsplatform.kernel import config
from jobsplatform.kernel.db import retry_deadlocks
from scheduler import retention
from scheduler.models import Backfill, Pause, Schedule, ScheduleState, ScheduleTriggerLog

KEPT_BACK = timedelta(hours=1)
"""A row that is still needed is looked at again after this."""


def prune(now: datetime, batch: int = 500) -> int:
    """One round: removes at most ``batch`` decisions whose time has passed, and as many backfills and pauses.

    Returns how many rows went. Decisions within the catch-up window of their schedule stay, and so do those that its
    cursor has not passed and those of a range that a running backfill looks at.
    """
    return _prune_log(now, batch) + _prune_backfills(now, batch) + _prune_pauses(now, batch)


@retry_deadlocks
@transaction.atomic
def _prune_log(now: datetime, batch: int) -> int:
    old = ScheduleTriggerLog.objects.filter(purge_at__lte=now).order_by("purge_at")
    rows = list(
        old.select_for_update(skip_locked=True).values(
            "id", "schedule_id", "tenant_id", "planned_at", "planned_until", "triggered_at"
        )[:batch]
    )
    if not rows:
        return 0
    needs = _Needed({row["schedule_id"] for row in rows}, now)
    gone: list[UUID] = []
    kept: dict[datetime, list[UUID]] = {}
    for row in rows:
        needed = needs.of(row)
        if needed is None:
            gone.append(row["id"])
        else:
            kept.setdefault(max(needed, now + KEPT_BACK), []).append(row["id"])
    for later, ids in kept.items():
        # Not the decision: only when to ask again whether it may go.
        ScheduleTriggerLog.objects.filter(id__in=ids).update(purge_at=later)
    if gone:
        ScheduleTriggerLog.objects.filter(id__in=gone)._raw_delete(old.db)
    return len(gone)


class _Needed:
    """Until when rows of some schedules are needed, by the schedules as they are now."""

    def __init__(self, schedule_ids: Iterable[str], now: datetime) -> None:
        ids = list(schedule_ids)
        self.now = now
        self.schedules: Mapping[str, Any] = {
            row["id"]: row
            for row in Schedule.objects.filter(id__in=ids).values("id", "log_days", "catch_up_window_seconds")
        }
        self.cursors = {
            (schedule_id, tenant_id): cursor
            for schedule_id, tenant_id, cursor in ScheduleState.objects.filter(
                schedule_id__in=ids
            ).values_list("schedule_id", "tenant_id", "last_planned_at")
        }
        running = Backfill.objects.filter(schedule_id__in=ids, state=Backfill.State.RUNNING)
        self.ranges = list(running.values("id", "schedule_id", "tenant_id", "after", "until"))

    def of(self, row: Mapping[str, Any]) -> datetime | None:
        """When to look at a row again; None: it may go."""
        schedule = self.schedules.get(row["schedule_id"])
        last = row["planned_until"] or row["planned_at"]
        kept = retention.purge_at(schedule["log_days"] if schedule else None, row["triggered_at"], last)
        if schedule is None:
            return kept if kept > self.now else None
        window = schedule["catch_up_window_seconds"]
        if window is None:
            window = config.get().scheduler.catch_up_window_seconds
        reaches = max(row["triggered_at"], last or row["triggered_at"]) + timedelta(seconds=window)
        latest = max(kept, reaches)
        if latest > self.now:
            return latest
        cursor = self.cursors.get((row["schedule_id"], row["tenant_id"]))
        if last is not None and cursor is not None and last > cursor:
            return self.now  # the planner will come to this slot and must find it
        return self.now if last is not None and self._looked_at(row, last) else None

    def _looked_at(self, row: Mapping[str, Any], last: datetime) -> bool:
        return any(
            (one["schedule_id"], one["tenant_id"]) == (row["schedule_id"], row["tenant_id"])
            and last > one["after"]
            and row["planned_at"] <= one["until"]
            for one in self.ranges
        )


def _edge(now: datetime) -> datetime:
    return now - timedelta(days=config.get().scheduler.log_retention_days)


def _prune_backfills(now: datetime, batch: int) -> int:
    ended = Backfill.objects.filter(ended_at__lt=_edge(now)).order_by("ended_at")
    ids = list(ended.values_list("id", flat=True)[:batch])
    return Backfill.objects.filter(id__in=ids).delete()[0] if ids else 0


def _prune_pauses(now: datetime, batch: int) -> int:
    lifted = Pause.objects.filter(lifted_at__lt=_edge(now)).order_by("id")
    ids = list(lifted.values_list("id", flat=True)[:batch])
    return Pause.objects.filter(id__in=ids).delete()[0] if ids else 0
