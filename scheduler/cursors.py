"""The rows of ScheduleState: who has one, and who has to be looked at."""

from __future__ import annotations

from collections.abc import Iterable
from datetime import datetime, timedelta

from django.db import DEFAULT_DB_ALIAS, connections, transaction
from django.db.models import Min

from jobsplatform.kernel.instants import LATEST
from jobsplatform.kernel.models import Tenant
from scheduler import definition, faults
from scheduler.models import Schedule, ScheduleState, ScheduleTriggerLog
from scheduler.rules import RULE
from scheduler.states import ORIGIN_AUTO, Audience, TriggerType
from scheduler.timetables.errors import TimetableError

_BATCH = 500

MOST_BACK = timedelta(days=7)
"""How far cursors follow a clock that was set back."""


def ensure(schedule: Schedule, now: datetime) -> int:
    """Give ``schedule`` a cursor for each of its audience, and take away those of whom it no longer plans for; how
    many were made.

    A new cursor stands at ``now``: slots before it are not missed. Only the one slot of a ``date`` counts all the
    same when it has passed already; what becomes of it is the misfire policy's matter.
    """
    if schedule.audience == Audience.NAMED and not isinstance(schedule.tenants, list):
        faults.note({schedule.pk: f"tenants: expected a list of ids, got {schedule.tenants!r}."[:200]}, now)
        return 0
    have = set(ScheduleState.objects.filter(schedule=schedule).values_list("tenant_id", flat=True))
    wanted = _audience(schedule)
    stale = have - wanted
    if schedule.audience == Audience.EVERY:  # the slots of an archived tenant are still decided
        stale -= set(Tenant.objects.values_list("tenant_id", flat=True))
    if stale:
        ScheduleState.objects.filter(schedule=schedule, tenant_id__in=stale).delete()
    return _make(schedule, wanted - have, now)


def ensure_all(now: datetime, limit: int = 1000) -> int:
    """Give cursors to tenants that are new, of schedules for every tenant; how many were made."""
    sql = f"""
        SELECT s.id, t.tenant_id FROM {Schedule._meta.db_table} AS s CROSS JOIN {Tenant._meta.db_table} AS t
        WHERE s.audience = '{Audience.EVERY}' AND s.archived_at IS NULL AND t.state = '{Tenant.State.ACTIVE}'
          AND NOT EXISTS (
              SELECT 1 FROM {ScheduleState._meta.db_table} AS x
              WHERE x.schedule_id = s.id AND x.tenant_id = t.tenant_id)
        LIMIT %s"""
    with connections[DEFAULT_DB_ALIAS].cursor() as cursor:
        cursor.execute(sql, [limit])
        missing: dict[str, set[str]] = {}
        for schedule_id, tenant_id in cursor.fetchall():
            missing.setdefault(schedule_id, set()).add(tenant_id)
    schedules = Schedule.objects.filter(pk__in=sorted(missing)).order_by("pk")
    return sum(_make(schedule, missing[schedule.pk], now) for schedule in schedules)


def _audience(schedule: Schedule) -> set[str]:
    if schedule.audience == Audience.GLOBAL:
        return {""}
    if schedule.audience == Audience.NAMED:
        return {name for name in schedule.tenants if isinstance(name, str) and name}
    return set(Tenant.objects.exclude(state=Tenant.State.ARCHIVED).values_list("tenant_id", flat=True))


def _make(schedule: Schedule, tenants: Iterable[str], now: datetime) -> int:
    start = _start(schedule, now)
    rows = [
        ScheduleState(
            schedule=schedule,
            tenant_id=tenant_id,
            last_planned_at=start,
            next_due_at=now,
            revision=schedule.revision,
        )
        for tenant_id in sorted(tenants)
    ]
    ScheduleState.objects.bulk_create(rows, ignore_conflicts=True, batch_size=_BATCH)
    return len(rows)


def _start(schedule: Schedule, now: datetime) -> datetime:
    if schedule.trigger_type != TriggerType.DATE:
        return now
    try:
        slot = definition.timetable_of(schedule, "").previous(now)
    except TimetableError:
        return now  # the planner says what is wrong with it
    return now if slot is None else slot - timedelta(seconds=1)


def wake(schedule_ids: Iterable[str], now: datetime) -> int:
    """Have these schedules looked at at once, for every tenant; how many cursors. A paused one is parked again by the
    planner."""
    ids = sorted(set(schedule_ids))
    woken = 0
    for start in range(0, len(ids), _BATCH):
        rows = ScheduleState.objects.filter(schedule_id__in=ids[start : start + _BATCH])
        # In their order, so that two who wake the same never wait for each other in a circle.
        held = list(rows.order_by("id").select_for_update().values_list("id", flat=True))
        woken += ScheduleState.objects.filter(id__in=held).update(next_due_at=now)
    return woken


def follow_clock(now: datetime, allowed: timedelta) -> int:
    """Put cursors that lie more than ``allowed`` ahead of ``now`` back to it, and look at them at once; how many.

    A cursor more than MOST_BACK ahead stays: the log no longer knows all that was decided in between. One that would
    come to lie within a range on record is put at the range's end.
    """
    rows = ScheduleState.objects.filter(
        last_planned_at__gt=now + allowed, last_planned_at__lte=now + MOST_BACK
    )
    with transaction.atomic():
        held = list(rows.order_by("id").select_for_update())
        for start in range(0, len(held), _BATCH):
            batch = held[start : start + _BATCH]
            ScheduleState.objects.filter(id__in=[state.pk for state in batch]).update(
                last_planned_at=now, next_due_at=now
            )
            ends = _ends_of_ranges({state.schedule_id for state in batch}, now)
            for state in batch:
                if end := ends.get((state.schedule_id, state.tenant_id)):
                    ScheduleState.objects.filter(pk=state.pk).update(last_planned_at=end)
    return len(held)


def _ends_of_ranges(schedule_ids: Iterable[str], now: datetime) -> dict[tuple[str, str], datetime]:
    rows = ScheduleTriggerLog.objects.filter(
        schedule_id__in=sorted(schedule_ids), origin=ORIGIN_AUTO, planned_at__lte=now, planned_until__gt=now
    )
    return {(row.schedule_id, row.tenant_id): row.planned_until for row in rows if row.planned_until}


def applied(schedule_ids: Iterable[str]) -> None:
    """Note that the rule of these schedules, as it stands in their rows, is known; call it wherever one was written."""
    Schedule.objects.filter(pk__in=list(schedule_ids)).update(applied=RULE)


def next_due() -> datetime | None:
    """When somebody has to look again; None when nothing is to come."""
    # Of what is no instant nobody knows when it comes, so it is waited for by nobody.
    rows = ScheduleState.objects.filter(next_due_at__isnull=False, next_due_at__lte=LATEST)
    due: datetime | None = rows.aggregate(at=Min("next_due_at"))["at"]
    return due
