"""Backfills: slots of a range, run (again) beside the schedule's own, few at once.

Level-triggered: ``step`` looks where each backfill stands and takes it a little further. The choice of a slot, its
job and the backfill's cursor are written in one transaction, and a slot is unique for its backfill: stepping twice, at
the same time or after a crash doubles nothing.
"""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime
from itertools import islice
from uuid import UUID

from django.db import transaction

from jobsplatform.kernel import clock
from jobsplatform.kernel.audit import Actor
from jobsplatform.kernel.db import retry_deadlocks
from jobsplatform.kernel.errors import InvalidInput
from scheduler import wakeups
from scheduler.backfill_choice import Choice, Chooser
from scheduler.backfill_progress import Progress, end, progress, told
from scheduler.backfill_range import MOST_SLOTS, looked_at, slots_of
from scheduler.backfill_steps import BEGUN_AT_ONCE, CHUNK, origin_of, step
from scheduler.errors import BackfillNotFound
from scheduler.models import Backfill

__all__ = [
    "BEGUN_AT_ONCE",
    "MOST_AT_ONCE",
    "MOST_SLOTS",
    "Choice",
    "Preview",
    "Progress",
    "cancel",
    "find",
    "origin_of",
    "preview",
    "progress",
    "start",
    "step",
]

MOST_AT_ONCE = 100
"""Unfinished jobs of one backfill."""
PREVIEW = 1000


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
    schedule, timetable, total = looked_at(schedule_id, after, until, mode, tenant_id, now)
    slots = list(islice(slots_of(timetable, after, until), min(limit, PREVIEW)))
    chooser = Chooser.of(schedule, tenant_id, mode, now)
    return Preview(
        tuple(c for n in range(0, len(slots), CHUNK) for c in chooser.choose(slots[n : n + CHUNK])), total
    )


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
    _, _, total = looked_at(schedule_id, after, until, mode, tenant_id, now)
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
    told(row, "schedules.backfill", actor, now)
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
    end(row, Backfill.State.CANCELLED, f"cancelled by {actor.name}", now)
    row.save()
    told(row, "schedules.backfill_cancel", actor, now)
    return row
