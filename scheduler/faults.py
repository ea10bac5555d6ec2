"""Schedules that cannot be planned: parked alone, said once, looked at again, healed when mended."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import datetime, timedelta

from django.db import transaction
from django.db.models import Q

from jobsplatform.kernel import events
from jobsplatform.kernel.db import retry_deadlocks
from scheduler.events import ScheduleFaulty, ScheduleMended
from scheduler.models import REASON_LENGTH, Schedule, ScheduleState

LOOK_AGAIN = timedelta(seconds=60)


def shown(error: BaseException) -> str:
    """An error as the one line that is kept."""
    message = getattr(error, "message", None)
    text = str(error).strip().splitlines()[0] if str(error).strip() else type(error).__name__
    if message is None and not isinstance(error, ValueError):
        text = f"{type(error).__name__}: {text}"
    return text[:REASON_LENGTH].replace("\x00", "\\0")


def note(faults: Mapping[str, str], now: datetime) -> None:
    """Write why these schedules are parked; ``fault_at`` stays at when that fault was first seen.

    The caller has parked their states.
    """
    for schedule_id, fault in sorted(faults.items()):
        rows = Schedule.objects.filter(pk=schedule_id).filter(~Q(fault=fault) | Q(fault_at=None))
        if rows.update(fault=fault, fault_at=now):
            events.emit(ScheduleFaulty(schedule_id, fault))


def heal(schedule_ids: set[str]) -> None:
    """These can be planned again."""
    for schedule_id in sorted(schedule_ids):
        faulty = Schedule.objects.filter(~Q(fault="") | Q(fault_at__isnull=False), pk=schedule_id)
        if faulty.update(fault="", fault_at=None):
            events.emit(ScheduleMended(schedule_id))


@retry_deadlocks
def park(state_id: int, schedule_id: str, error: Exception, now: datetime) -> str:
    """Park one state whose round fails, without reading what may be the cause; the fault."""
    fault = shown(error)
    with transaction.atomic():
        list(ScheduleState.objects.filter(pk=state_id).select_for_update().values_list("pk", flat=True))
        ScheduleState.objects.filter(pk=state_id).update(next_due_at=now + LOOK_AGAIN, last_checked_at=now)
        note({schedule_id: fault}, now)
    return fault
