"""Taking backfills further: the choice of a slot, its job and the place in the range are written together."""

from __future__ import annotations

import logging
from datetime import datetime, timedelta
from itertools import islice
from uuid import UUID

from django.db import InterfaceError, OperationalError, transaction

from jobsplatform.kernel import clock
from jobsplatform.kernel.audit import Actor
from jobsplatform.kernel.db import retry_deadlocks
from jobsplatform.kernel.errors import InvalidInput, PlatformError
from scheduler import trigger
from scheduler.backfill_choice import Chooser
from scheduler.backfill_progress import end, ended, told
from scheduler.backfill_range import slots_of, timetable_of
from scheduler.models import Backfill, Schedule, ScheduleState
from scheduler.requests import ScheduleTriggerRequest
from scheduler.states import Status
from scheduler.timetables.base import Timetable
from tasks import registry

logger = logging.getLogger("jobsplatform.scheduler")

CHUNK = 200
"""Slots that are looked at in one transaction."""
MOST_A_ROUND = 100
"""Backfills that one round takes further; the others come next."""
LOOK_AGAIN = timedelta(seconds=0.5)
"""Shorter than the sleep between two rounds, so that none is left out."""
REST = timedelta(seconds=60)
"""After a fault of the schedule."""
BUDGET_SECONDS = 0.1
"""A round that has lasted so long ends, and whoever was not reached comes first in the next: slots are planned between
the rounds."""
BEGUN_AT_ONCE = 5
"""Jobs made in one transaction: it holds the schedule's state, and live slots wait for that."""


def step(now: datetime, limit: int = 50) -> int:
    """Take every running backfill that is due a little further: at most ``limit`` slots in all, shared among them, and
    about a tenth of a second.

    Returns how many slots were run or passed over; 0: there is nothing to do now. Errors of one backfill are noted on
    it and do not stop the others.
    """
    due = Backfill.objects.filter(state=Backfill.State.RUNNING, next_look_at__lte=now)
    ids = list(due.order_by("next_look_at", "id").values_list("id", flat=True)[:MOST_A_ROUND])
    if not ids:
        return 0
    share = max(1, min(limit // len(ids), BEGUN_AT_ONCE))
    until = clock.monotonic() + BUDGET_SECONDS
    taken = 0
    for backfill_id in ids[:limit]:
        taken += _take_further(backfill_id, share, now)
        if clock.monotonic() >= until:
            break
    return taken


def _take_further(backfill_id: UUID, share: int, now: datetime) -> int:
    try:
        return _advance(backfill_id, share, now)
    except PlatformError as error:  # its schedule is faulty, its job type unknown …
        _rest(backfill_id, error.message, now)
    except (InterfaceError, OperationalError):
        raise
    except Exception as error:
        logger.exception("backfill %s could not go on; it is looked at again in a minute", backfill_id)
        _rest(backfill_id, f"{type(error).__name__}: {error}", now)
    return 0


def _rest(backfill_id: UUID, note: str, now: datetime) -> None:
    row = Backfill.objects.filter(id=backfill_id, state=Backfill.State.RUNNING)
    row.update(next_look_at=now + REST, note=note.replace("\x00", "")[:500])


@retry_deadlocks
@transaction.atomic
def _advance(backfill_id: UUID, share: int, now: datetime) -> int:
    locked = Backfill.objects.select_for_update(skip_locked=True)
    row = locked.filter(id=backfill_id, state=Backfill.State.RUNNING, next_look_at__lte=now).first()
    if row is None:  # another stepper has it, or had it
        return 0
    row.done, row.failed, row.open = ended(row)
    schedule = Schedule.objects.filter(id=row.schedule_id).first()
    if schedule is None or schedule.archived_at is not None:
        end(row, Backfill.State.CANCELLED, "its schedule was archived or removed", now)
        row.save()
        told(row, "schedules.backfill_cancel", Actor.system("backfill"), now)
        return 0
    taken, more = _run(row, schedule, share, now)
    row.note = ""
    row.next_look_at = now if more else now + LOOK_AGAIN
    if not more and not row.open and row.cursor >= row.until:
        end(row, Backfill.State.DONE, "", now)
        told(row, "", Actor.system("backfill"), now)
    row.save()
    return taken


def _run(row: Backfill, schedule: Schedule, share: int, now: datetime) -> tuple[int, bool]:
    """Run or pass over the next slots; how many, and whether more could be done at once."""
    free = row.concurrency - len(row.open)
    if free <= 0:
        return 0, False
    _check_runnable(schedule)
    _hold(row)
    timetable = timetable_of(schedule, row.tenant_id)
    slots = list(islice(slots_of(timetable, row.cursor, row.until), CHUNK))
    chooser = Chooser.of(schedule, row.tenant_id, row.mode, now, own=origin_of(row))
    taken = begun = 0
    for choice in chooser.choose(slots):
        if choice.run:
            if len(row.open) >= row.concurrency:
                return taken, False
            if begun >= share:
                return taken, True
            _submit(row, choice.planned_at, timetable, now)
            begun += 1
        else:
            row.passed_over += 1
        row.cursor = choice.planned_at
        taken += 1
    if len(slots) < CHUNK:
        row.cursor = row.until
        return taken, False
    return taken, True


def _hold(row: Backfill) -> None:
    """From here to the commit nobody else decides or runs slots of this schedule and tenant: what is on record stays
    true until what was chosen by it is on record too. Else two backfills that look at a slot at once both run it."""
    states = ScheduleState.objects.filter(schedule_id=row.schedule_id, tenant_id=row.tenant_id)
    if not states.select_for_update().values_list("id", flat=True):
        # A tenant that it does not plan for (any more) has no state: the schedule stands for it.
        schedule = Schedule.objects.filter(id=row.schedule_id).select_for_update(no_key=True)
        list(schedule.values_list("id", flat=True))


def _check_runnable(schedule: Schedule) -> None:
    """Raises InvalidInput, UnknownName: its slots wait, they are not used up as failed."""
    if schedule.fault:
        raise InvalidInput(f"Schedule {schedule.id!r} is faulty: {schedule.fault}")
    registry.get(schedule.app_id, schedule.job_type)


def origin_of(row: Backfill) -> str:
    """The origin of its runs in the trigger log."""
    return f"backfill:{row.id}"


def _submit(row: Backfill, slot: datetime, timetable: Timetable, now: datetime) -> None:
    result = trigger.trigger(
        ScheduleTriggerRequest(
            schedule_id=row.schedule_id,
            tenant_id=row.tenant_id,
            planned_at=slot,
            origin=origin_of(row),
            job_origin="backfill",
            window_start=timetable.previous(slot),
            by=f"backfill of {row.author}",
        ),
        now,
    )
    if result.status == Status.FIRED and result.task_id:
        row.submitted += 1
        row.open = [*row.open, result.task_id]
    elif result.status == Status.FAILED:
        row.failed += 1
    else:
        row.passed_over += 1
