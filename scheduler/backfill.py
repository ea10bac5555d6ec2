"""Backfills: slots of a range, run (again) beside the schedule's own, few at once.

Level-triggered: ``step`` looks where each backfill stands and takes it a little further. The choice of a slot, its
job and the backfill's cursor are written in one transaction, and a slot is unique for its backfill: stepping twice, at
the same time or after a crash doubles nothing.
"""

from __future__ import annotations

import logging
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import datetime, timedelta
from itertools import islice
from typing import Any
from uuid import UUID

from django.db import InterfaceError, OperationalError, transaction

from jobsplatform.kernel import audit, clock, events
from jobsplatform.kernel.audit import Actor
from jobsplatform.kernel.db import retry_deadlocks
from jobsplatform.kernel.errors import InvalidInput, PlatformError, UnknownName, did_you_mean
from jobsplatform.kernel.instants import text
from scheduler import definition, queries, trigger, wakeups
from scheduler.backfill_choice import Choice, Chooser
from scheduler.errors import BackfillNotFound, ScheduleArchived
from scheduler.events import BackfillChanged
from scheduler.models import Backfill, Schedule
from scheduler.requests import ScheduleTriggerRequest
from scheduler.states import Audience, Status, TriggerType
from scheduler.timetables.base import Timetable
from scheduler.timetables.errors import TimetableError
from tasks import queries as jobs
from tasks import registry
from tasks.states import ACTIVE, State

logger = logging.getLogger("jobsplatform.scheduler")

MOST_SLOTS = 10_000
"""Of one backfill."""
MOST_AT_ONCE = 100
CHUNK = 200
"""Slots that are looked at in one transaction."""
MOST_A_ROUND = 100
"""Backfills that one round takes further; the others come next."""
LOOK_AGAIN = timedelta(seconds=0.5)
"""Shorter than the sleep between two rounds, so that none is left out."""
REST = timedelta(seconds=60)
"""After a fault of the schedule."""
PREVIEW = 1000
BEGUN_AT_ONCE = 10
"""Jobs made in one transaction: it holds the schedule's state, and live slots wait for that."""


# -- looking -----------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Preview:
    """What a backfill would do. ``slots``: the choices, the first 1,000 of them; ``total``: slots of the range."""

    slots: tuple[Choice, ...]
    total: int

    @property
    def runs(self) -> int:
        """How many of the slots shown would run."""
        return sum(choice.run for choice in self.slots)


def preview(
    schedule_id: str,
    after: datetime,
    until: datetime,
    mode: str = Backfill.Mode.MISSING,
    tenant_id: str = "",
    *,
    now: datetime | None = None,
    limit: int = PREVIEW,
) -> Preview:
    """The slots in (after, until], each with whether it would run and why (not). Stores nothing.

    Raises what ``start`` raises.
    """
    now = now or clock.now()
    schedule, timetable, total = _looked_at(schedule_id, after, until, mode, tenant_id, now)
    slots = list(islice(_slots(timetable, after, until), min(limit, PREVIEW)))
    chooser = Chooser.of(schedule, tenant_id, mode, now)
    return Preview(
        tuple(c for n in range(0, len(slots), CHUNK) for c in chooser.choose(slots[n : n + CHUNK])), total
    )


@dataclass(frozen=True, slots=True)
class Progress:
    """Where a backfill stands. ``submitted`` = ``done`` + ``running`` + those of ``failed`` that had a job;
    ``total`` = ``submitted`` + ``passed_over`` + ``left`` + slots that could not be made a job."""

    state: str
    total: int
    submitted: int
    passed_over: int
    done: int
    failed: int
    running: int
    left: int
    note: str = ""

    def as_dict(self) -> dict[str, Any]:
        return {name: getattr(self, name) for name in self.__slots__}


def progress(backfill: Backfill) -> Progress:
    """Where it stands now: jobs that have ended since the last step are counted as ended."""
    done, failed, running = _ended(backfill)
    looked_at = backfill.submitted + backfill.passed_over + _jobless(backfill)
    return Progress(
        backfill.state,
        backfill.total,
        backfill.submitted,
        backfill.passed_over,
        done,
        failed,
        len(running),
        max(backfill.total - looked_at, 0),
        backfill.note,
    )


def _jobless(backfill: Backfill) -> int:
    """Slots that could not be made a job: they failed without having been submitted."""
    return max(backfill.done + backfill.failed + len(backfill.open) - backfill.submitted, 0)


def _ended(backfill: Backfill) -> tuple[int, int, list[str]]:
    """Jobs completed and failed so far, and the ids of those that have not ended."""
    states = jobs.states_of(UUID(job_id) for job_id in backfill.open)
    done, failed, running = backfill.done, backfill.failed, []
    for job_id in backfill.open:
        state = states.get(UUID(job_id))
        if state in ACTIVE:
            running.append(job_id)
        elif state in (State.COMPLETED, None):  # None: ended so long ago that retention has taken it
            done += 1
        else:
            failed += 1
    return done, failed, running


def find(backfill_id: UUID | str) -> Backfill:
    """The backfill with this id. Raises BackfillNotFound."""
    try:
        wanted = UUID(str(backfill_id))
    except ValueError:
        raise BackfillNotFound(backfill_id) from None
    found = Backfill.objects.filter(id=wanted).first()
    if found is None:
        raise BackfillNotFound(backfill_id)
    return found


# -- beginning and ending ----------------------------------------------------------------------------


@transaction.atomic
def start(
    schedule_id: str,
    after: datetime,
    until: datetime,
    mode: str = Backfill.Mode.MISSING,
    tenant_id: str = "",
    *,
    actor: Actor,
    concurrency: int = 1,
    now: datetime | None = None,
) -> Backfill:
    """Begin to run the slots in (after, until], aware instants, at most ``concurrency`` unfinished jobs at once.

    ``mode``: ``missing`` (slots that did not fire), ``failed`` (slots whose job did not complete) or ``all``; looked at
    when a slot's turn comes. The slots are those of the schedule's present timetable, also from before the schedule
    was made. Raises ScheduleNotFound, ScheduleArchived, UnknownName (mode), and InvalidInput for a range that is
    empty, lies in the future, has no slot or more than 10,000.
    """
    now = now or clock.now()
    _, _, total = _looked_at(schedule_id, after, until, mode, tenant_id, now)
    if isinstance(concurrency, bool) or not 1 <= concurrency <= MOST_AT_ONCE:
        raise InvalidInput(f"concurrency: expected a number from 1 to {MOST_AT_ONCE}, got {concurrency}.")
    row = Backfill.objects.create(
        schedule_id=schedule_id,
        tenant_id=tenant_id,
        after=after,
        until=until,
        mode=mode,
        concurrency=concurrency,
        cursor=after,
        total=total,
        author=actor.name[:150],
        created_at=now,
        next_look_at=now,
    )
    _told(row, "schedules.backfill", actor, now)
    wakeups.wake()
    return row


@retry_deadlocks
@transaction.atomic
def cancel(backfill_id: UUID | str, *, actor: Actor, now: datetime | None = None) -> Backfill:
    """Begin no further slot. Jobs that are made already go on. Cancelling what has ended changes nothing.

    Raises BackfillNotFound.
    """
    now = now or clock.now()
    find(backfill_id)
    row = Backfill.objects.select_for_update().get(id=UUID(str(backfill_id)))
    if row.state != Backfill.State.RUNNING:
        return row
    _end(row, Backfill.State.CANCELLED, f"cancelled by {actor.name}", now)
    row.save()
    _told(row, "schedules.backfill_cancel", actor, now)
    return row


def _looked_at(
    schedule_id: str, after: datetime, until: datetime, mode: str, tenant_id: str, now: datetime
) -> tuple[Schedule, Timetable, int]:
    schedule = queries.find(schedule_id)
    if schedule.archived_at is not None:
        raise ScheduleArchived(
            f"Schedule {schedule_id!r} is archived. Restore it first.", schedule_id=schedule_id
        )
    if mode not in Backfill.Mode.values:
        raise UnknownName("mode", str(mode), Backfill.Mode.values)
    for name, instant in (("after", after), ("until", until)):
        if instant.tzinfo is None or instant.utcoffset() is None:
            raise InvalidInput(f"{name}: expected an instant with an offset, as {instant.isoformat()}Z.")
    if until <= after:
        raise InvalidInput(f"until: {text(until)} is not after {text(after)}.")
    if until > now:
        raise InvalidInput(
            f"until: {text(until)} lies in the future. The schedule itself runs slots to come; now is {text(now)}."
        )
    _check_tenant(schedule, tenant_id)
    timetable = _timetable(schedule, tenant_id)
    total = timetable.count(after, until)
    if not total:
        near = [text(slot) for slot in (timetable.previous(after), timetable.next(until)) if slot is not None]
        told = f" The nearest: {', '.join(near)}." if near else ""
        raise InvalidInput(f"after, until: schedule {schedule_id!r} has no slot in that range.{told}")
    if total > MOST_SLOTS:
        raise InvalidInput(
            f"after, until: {total:,} slots lie in that range, at most {MOST_SLOTS:,} can be run by one backfill. "
            "Split the range."
        )
    return schedule, timetable, total


def _check_tenant(schedule: Schedule, tenant_id: str) -> None:
    if schedule.audience == Audience.GLOBAL and tenant_id:
        raise InvalidInput(f"tenant: schedule {schedule.id!r} runs for the whole host, not for a tenant.")
    if schedule.audience != Audience.GLOBAL and not tenant_id:
        raise InvalidInput(f"tenant: schedule {schedule.id!r} runs for each tenant: name one.")
    if schedule.audience == Audience.NAMED and tenant_id not in schedule.tenants:
        hint = did_you_mean(tenant_id, schedule.tenants)
        raise InvalidInput(f"tenant: schedule {schedule.id!r} does not run for {tenant_id!r}.{hint}")


def _timetable(schedule: Schedule, tenant_id: str) -> Timetable:
    if schedule.trigger_type == TriggerType.MANUAL:
        raise InvalidInput(
            f"Schedule {schedule.id!r} has no timetable, so it has no slots: run it now instead."
        )
    try:
        timetable = definition.timetable_of(schedule, tenant_id)
    except TimetableError as error:
        raise InvalidInput(f"Schedule {schedule.id!r} is faulty: {error}") from None
    if timetable.follows_end:
        raise InvalidInput(
            f"The slots of schedule {schedule.id!r} follow the end of its last job: a range has none of them."
        )
    return timetable


def _slots(timetable: Timetable, after: datetime, until: datetime) -> Iterator[datetime]:
    slot = timetable.next(after)
    while slot is not None and slot <= until:
        yield slot
        slot = timetable.next(slot)


# -- going on ----------------------------------------------------------------------------------------


def step(now: datetime, limit: int = 50) -> int:
    """Take every running backfill that is due a little further: at most ``limit`` slots in all, shared among them.

    Returns how many slots were run or passed over; 0: there is nothing to do now. Errors of one backfill are noted on
    it and do not stop the others.
    """
    due = Backfill.objects.filter(state=Backfill.State.RUNNING, next_look_at__lte=now)
    ids = list(due.order_by("next_look_at", "id").values_list("id", flat=True)[:MOST_A_ROUND])
    if not ids:
        return 0
    share = max(1, min(limit // len(ids), BEGUN_AT_ONCE))
    return sum(_take_further(backfill_id, share, now) for backfill_id in ids[:limit])


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
    row.done, row.failed, row.open = _ended(row)
    schedule = Schedule.objects.filter(id=row.schedule_id).first()
    if schedule is None or schedule.archived_at is not None:
        _end(row, Backfill.State.CANCELLED, "its schedule was archived or removed", now)
        row.save()
        _told(row, "schedules.backfill_cancel", Actor.system("backfill"), now)
        return 0
    taken, more = _run(row, schedule, share, now)
    row.note = ""
    row.next_look_at = now if more else now + LOOK_AGAIN
    if not more and not row.open and row.cursor >= row.until:
        _end(row, Backfill.State.DONE, "", now)
        _told(row, "", Actor.system("backfill"), now)
    row.save()
    return taken


def _run(row: Backfill, schedule: Schedule, share: int, now: datetime) -> tuple[int, bool]:
    """Run or pass over the next slots; how many, and whether more could be done at once."""
    free = row.concurrency - len(row.open)
    if free <= 0:
        return 0, False
    _check_runnable(schedule)
    timetable = _timetable(schedule, row.tenant_id)
    slots = list(islice(_slots(timetable, row.cursor, row.until), CHUNK))
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


def _end(row: Backfill, state: str, note: str, now: datetime) -> None:
    row.state = state
    row.ended_at = now
    row.next_look_at = None
    row.note = note[:500]


def _told(row: Backfill, action: str, actor: Actor, now: datetime) -> None:
    """Audit what somebody did (``action``), and tell how it stands after the commit."""
    if action:
        facts = {
            "schedule_id": row.schedule_id,
            "after": text(row.after),
            "until": text(row.until),
            "mode": row.mode,
            "concurrency": row.concurrency,
            "state": row.state,
            "total": row.total,
            "submitted": row.submitted,
        }
        audit.record(action, "backfill", row.id, actor=actor, after=facts, tenant_id=row.tenant_id, at=now)
    events.emit(
        BackfillChanged(
            row.id,
            row.schedule_id,
            row.tenant_id,
            str(row.state),
            row.total,
            row.submitted,
            row.passed_over,
            row.failed,
            row.note,
        )
    )
