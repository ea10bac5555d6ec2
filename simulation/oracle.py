"""Whether a history kept the promises: every slot one decision, every fired slot one job, every instant exact."""

from __future__ import annotations

from collections.abc import Iterable
from datetime import datetime, timedelta

from scheduler.models import ScheduleTriggerLog
from scheduler.states import ORIGIN_AUTO, Status
from simulation.clock import BEGIN
from simulation.plans import Planned
from tasks.models import Job

SECOND = timedelta(seconds=1)

AHEAD = 3 * 3600
"""How far a wrong clock or a person may have decided slots that are still to come, in seconds."""


def violations(planned: Planned, end: datetime) -> list[str]:
    """What is wrong with the ledger and the jobs of one schedule at the ``end``, a line each."""
    return [
        f"{planned.id}{'/' + tenant if tenant else ''}: {line}"
        for tenant in planned.tenants
        for line in [*_ledger(planned, tenant, end), *_jobs(planned, tenant)]
    ]


def count(planned: Planned, end: datetime) -> int:
    """How many slots a schedule has had."""
    return sum(1 for tenant in planned.tenants for _ in planned.calendar(end, tenant=tenant))


def shown(planned: Planned) -> list[str]:
    """What is on record about a schedule, a line for each decision, without what differs each time."""
    return [
        f"{row.schedule_id} {row.tenant_id} {row.planned_at} {row.planned_until} {row.slot_count} {row.status} "
        f"{row.reason} {row.triggered_at} {row.decided_by}"
        for tenant in planned.tenants
        for row in _rows(planned, tenant)
    ]


def _rows(planned: Planned, tenant: str) -> list[ScheduleTriggerLog]:
    rows = ScheduleTriggerLog.objects.filter(schedule_id=planned.id, tenant_id=tenant)
    return list(rows.order_by("planned_at", "id"))


def _ledger(planned: Planned, tenant: str, end: datetime) -> Iterable[str]:
    rows = [row for row in _rows(planned, tenant) if row.origin == ORIGIN_AUTO]
    last = max([end, *(row.planned_until or row.planned_at for row in rows)])
    if (last - end).total_seconds() > AHEAD:
        yield f"a slot of {last} was decided at {end}"
        return
    # A clock that stands before the creation has slots there; no right clock may count them as missed.
    since = min([BEGIN, *(row.planned_at - SECOND for row in rows)])
    calendar = list(planned.calendar(last, since, tenant))
    taken: dict[datetime, str] = {}
    for row in rows:
        first, until = row.planned_at, row.planned_until or row.planned_at
        slots = [slot for slot in calendar if first <= slot <= until]
        name = f"{row.status} {first:%H:%M:%S.%f}-{until:%H:%M:%S.%f} x{row.slot_count}"
        if not slots or (slots[0], slots[-1], len(slots)) != (first, until, row.slot_count):
            yield f"{name}: the calendar has {len(slots)} slots there"
        if any(planned.taken_out(slot) != (row.status == Status.EXCLUDED) for slot in slots):
            yield f"{name}: excluded and others are mixed up"
        if row.status != Status.FIRED and not row.reason:
            yield f"{name}: no reason"
        if first <= BEGIN < row.triggered_at and not row.decided_by.startswith("person"):
            yield f"{name}: of before the creation, decided at {row.triggered_at:%H:%M:%S}"
        for slot in slots:
            if slot in taken:
                yield f"{slot:%H:%M:%S} is decided twice: {taken[slot]}; {name}"
            taken[slot] = name
    fired = sum(row.status == Status.FIRED for row in rows)
    if planned.max_runs is not None and fired >= planned.max_runs:
        if fired > planned.max_runs + _by_hand(rows):
            yield f"{fired} slots fired of {planned.max_runs}"
        return
    for slot in calendar:
        if BEGIN < slot <= end and slot not in taken:
            yield f"{slot:%H:%M:%S} was never decided"


def _by_hand(rows: Iterable[ScheduleTriggerLog]) -> int:
    """Slots that a person had run, whatever runs the schedule has left."""
    return sum(row.decided_by.startswith("person") for row in rows)


def _jobs(planned: Planned, tenant: str) -> Iterable[str]:
    jobs = {job.id: job for job in Job.objects.filter(schedule_id=planned.id, tenant_id=tenant)}
    for row in _rows(planned, tenant):
        if row.status != Status.FIRED:
            continue
        made = jobs.pop(row.task_id, None) if row.task_id else None
        if made is None:
            yield f"{row.planned_at}: fired without a job of its own"
        elif made.planned_at != row.planned_at:
            yield f"{row.planned_at}: its job is for {made.planned_at}"
    for made in jobs.values():
        yield f"a job for {made.planned_at} that no decision knows"
