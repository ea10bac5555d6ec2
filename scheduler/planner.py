"""Whoever ticks calls ``step``: the schedules that are due are planned, their slots decided, their jobs made.

Any number of planners may run. Each batch is one transaction; a batch that fails is halved until the row that spoils
it stands alone, and that one is parked.
"""

from __future__ import annotations

import logging
from collections.abc import Sequence
from datetime import datetime, timedelta

from django.db import DataError, InterfaceError, OperationalError, transaction
from django.db.models import QuerySet

from jobsplatform.kernel import config
from jobsplatform.kernel.db import retry_deadlocks
from scheduler import cursors, edits, faults, halts, steps
from scheduler.batch import Batch, Done, Moved
from scheduler.models import ScheduleState
from scheduler.requests import ScheduleTriggerResult, StepResult
from scheduler.sql.states import lock
from scheduler.states import Status
from scheduler.tickets import Hand

logger = logging.getLogger("jobsplatform.scheduler")

PARKED = "parked"
"""Status in the results of a schedule that cannot be planned."""

SHORTLY = timedelta(milliseconds=50)
"""What is due is in another planner's hands: look again then."""

Only = tuple[str, str | None]
"""A schedule, for one tenant, or (None) for all it plans for."""

UNREADABLE = (DataError, ValueError, TypeError, RecursionError)
"""What reading a row raises that somebody wrote by SQL."""

_ROUNDS = 1000
"""Of a settling: more than a catch-up can have."""


def step(
    now: datetime,
    *,
    instance: str = "",
    limit: int | None = None,
    only: Only | None = None,
    settle: bool = False,
    hand: Hand | None = None,
) -> StepResult:
    """Plan the schedules that are due at ``now``, at most ``limit`` of them (SCHEDULER__BATCH), the longest due first.

    Nothing is due while everything is paused. ``only``: of this schedule alone. ``settle``, with ``only``: before its
    rule is edited every slot up to ``now`` is decided by the old one, be it due, paused or of an unknown job type.
    ``instance`` (or ``hand``) is written into the trigger log. Raises what tells that the database cannot be used.
    """
    clock_checked(now)
    hand = hand or Hand(instance)
    if settle:
        return _settle(now, hand, only)
    due = cursors.next_due()
    if due is None or due > now:
        return StepResult(next_due_at=due)
    halted, until = halts.of_everything(now)
    if halted:
        return StepResult(next_due_at=until)
    size = limit or config.get().scheduler.batch
    done = _guarded(_due(now, only)[:size], now, hand, settle=False)
    if done.checked >= size or done.more:
        return _result(done, now, more=True, next_due_at=now)
    due = cursors.next_due()
    if due is not None and due <= now:
        due = now + SHORTLY
    return _result(done, now, more=False, next_due_at=due)


def next_due() -> datetime | None:
    """When somebody has to look again; None when nothing is to come."""
    return cursors.next_due()


def edited_outside(now: datetime) -> int:
    """Take up edits of schedules by SQL or bulk updates; how many. To be called every SCHEDULER__POLL_SECONDS."""
    return edits.adopt_all(now)


_latest: datetime | None = None
BACK = timedelta(seconds=60)
"""A clock that is this much behind what it was has been set back; less is jitter."""


def clock_checked(now: datetime) -> None:
    """Cursors that lie ahead of a clock that was set back follow it: else nothing fires until it comes there again.

    Slots on record stay decided. Looked for at the first round of a process, and whenever its clock has gone back.
    """
    global _latest
    if _latest is None or now < _latest - BACK:
        cursors.follow_clock(now, BACK)
    _latest = now


def _due(now: datetime, only: Only | None) -> QuerySet[ScheduleState]:
    rows = ScheduleState.objects.filter(next_due_at__lte=now)
    return _of(rows, only).order_by("next_due_at", "id")


def _of(rows: QuerySet[ScheduleState], only: Only | None) -> QuerySet[ScheduleState]:
    if only is None:
        return rows
    schedule_id, tenant_id = only
    rows = rows.filter(schedule_id=schedule_id)
    return rows if tenant_id is None else rows.filter(tenant_id=tenant_id)


def _settle(now: datetime, hand: Hand, only: Only | None) -> StepResult:
    rows = _of(ScheduleState.objects.all(), only).order_by("id")
    done = Done()
    for _ in range(_ROUNDS):
        part = _guarded(rows, now, hand, settle=True)
        done.add(part)
        if not part.more:
            break
    return _result(done, now, more=False, next_due_at=cursors.next_due())


# -- one batch, whatever is in it --------------------------------------------------------------------


def _guarded(rows: QuerySet[ScheduleState], now: datetime, hand: Hand, *, settle: bool) -> Done:
    picked: list[tuple[int, str]] = []
    try:
        return _round(rows, now, hand, settle, False, picked)
    except (InterfaceError, OperationalError):
        raise  # of the database, not of a row
    except Exception as error:
        if not picked and isinstance(error, UNREADABLE):
            # A row that cannot even be read: it is looked for by the keys alone.
            picked += rows.values_list("pk", "schedule_id")
        if not picked:
            raise
        return _bisected(picked, error, now, hand, settle)


def _bisected(
    picked: Sequence[tuple[int, str]], error: Exception, now: datetime, hand: Hand, settle: bool
) -> Done:
    if len(picked) == 1:
        return _alone(*picked[0], error, now, hand, settle)
    done = Done()
    for half in (picked[: len(picked) // 2], picked[len(picked) // 2 :]):
        rows = ScheduleState.objects.filter(pk__in=[pk for pk, _ in half])
        rows = rows if settle else rows.filter(next_due_at__lte=now)
        done.add(_guarded(rows.order_by("next_due_at", "id"), now, hand, settle=settle))
    return done


def _alone(
    state_id: int, schedule_id: str, error: Exception, now: datetime, hand: Hand, settle: bool
) -> Done:
    """The last try with one row: each of its slots by itself; then it is parked."""
    rows = ScheduleState.objects.filter(pk=state_id)
    try:
        return _round(rows, now, hand, settle, True, [])
    except (InterfaceError, OperationalError):
        raise
    except Moved:
        return Done()  # somebody else is at it; it is looked at again shortly
    except Exception as again:
        logger.error("schedule %s cannot be planned and is parked", schedule_id, exc_info=again)
        return Done(checked=1, faults={schedule_id: faults.park(state_id, schedule_id, again, now)})


@retry_deadlocks
def _round(
    rows: QuerySet[ScheduleState],
    now: datetime,
    hand: Hand,
    settle: bool,
    careful: bool,
    picked: list[tuple[int, str]],
) -> Done:
    with transaction.atomic():
        # Those in another planner's hands are his.
        states = lock(rows, skip_locked=not settle)
        picked[:] = [(state.id, state.schedule_id) for state in states]
        if not states:
            return Done()
        done = Batch(states, now, hand, settle=settle, careful=careful).run()
        steps.reached("before_commit")
    steps.reached("committed")
    return done


def _result(done: Done, now: datetime, *, more: bool, next_due_at: datetime | None) -> StepResult:
    results = [slot.result() for slot in done.slots]
    results += [
        ScheduleTriggerResult(False, schedule_id, "", "", "", PARKED, None, now, reason="fault", error=fault)
        for schedule_id, fault in sorted(done.faults.items())
    ]
    triggered = sum(slot.status == Status.FIRED for slot in done.slots)
    failed = sum(slot.status == Status.FAILED for slot in done.slots) + len(done.faults)
    return StepResult(done.checked, triggered, failed, tuple(results), more, next_due_at)
