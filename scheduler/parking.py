"""States that nobody has to look at: those of what is paused or archived."""

from __future__ import annotations

from collections.abc import Iterable
from datetime import datetime

from django.db.models import QuerySet

from scheduler.models import Pause, ScheduleState
from scheduler.states import PauseScope


def states_of(scope: PauseScope, target: str) -> QuerySet[ScheduleState]:
    """The states that a pause of this scope parks; none for a pause of everything."""
    if scope == PauseScope.SCHEDULE:
        return ScheduleState.objects.filter(schedule_id=target)
    if scope == PauseScope.TENANT:
        return ScheduleState.objects.filter(tenant_id=target)
    return ScheduleState.objects.none()


def lock(scope: PauseScope, target: str) -> None:
    """Hold these states until the transaction ends, in the one order: no round is under way that looks at them."""
    list(states_of(scope, target).select_for_update().order_by("id").values_list("id", flat=True))


def lock_many(schedule_ids: Iterable[str]) -> None:
    """``lock`` for the states of several schedules, all in the one order."""
    rows = ScheduleState.objects.filter(schedule_id__in=list(schedule_ids))
    list(rows.select_for_update().order_by("id").values_list("id", flat=True))


def park(scope: PauseScope, target: str) -> int:
    """Nobody looks at these states (which the caller has locked) until they are unparked."""
    return states_of(scope, target).filter(next_due_at__isnull=False).update(next_due_at=None)


def unpark(scope: PauseScope, target: str, now: datetime) -> int:
    """Look at these states now, but those that lie still for another reason too."""
    return movable(states_of(scope, target)).update(next_due_at=now)


def movable(states: QuerySet[ScheduleState]) -> QuerySet[ScheduleState]:
    """Those of ``states`` whose schedule is not archived, and that no pause of a schedule or tenant parks."""
    open_ones = Pause.objects.filter(lifted_at=None)
    return (
        states.filter(schedule__archived_at=None)
        .exclude(schedule_id__in=open_ones.filter(scope=PauseScope.SCHEDULE).values("target"))
        .exclude(tenant_id__in=open_ones.filter(scope=PauseScope.TENANT).values("target"))
    )
