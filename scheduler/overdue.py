"""Which schedules are late: slots that nobody decides. It looks at the rows alone and needs no scheduler to be alive.

Two looks. The one by ``next_due_at`` is by an index, and costs the same for a hundred schedules and for a hundred
thousand. The other distrusts ``next_due_at``: it takes cursor and timetable, a few schedules at a time, and goes round.
"""

from __future__ import annotations

import threading
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta

from django.db.models import Q, QuerySet

from jobsplatform.kernel import config, events
from scheduler import definition, queries
from scheduler.events import SchedulesOverdue
from scheduler.models import Pause, Schedule, ScheduleState
from scheduler.states import Audience, PauseScope, TriggerType
from scheduler.timetables.errors import TimetableError

NAMED = 100
"""As many are named; the number of all is counted up to COUNTED."""
COUNTED = 10_000
SCHEDULES_A_LOOK = 100
SECOND = timedelta(seconds=1)


@dataclass(frozen=True, slots=True)
class Overdue:
    """A schedule (for a tenant) with a slot that nobody decides. ``since``: when that was due."""

    schedule_id: str
    tenant_id: str
    since: datetime
    seconds: float
    reason: str = ""

    @property
    def name(self) -> str:
        """The id, with the tenant where there is one."""
        return f"{self.schedule_id} ({self.tenant_id})" if self.tenant_id else self.schedule_id


@dataclass(frozen=True, slots=True)
class Faulty:
    """A schedule that is parked because it cannot be planned: it is not late, it waits to be mended."""

    schedule_id: str
    fault: str
    since: datetime | None


@dataclass(frozen=True, slots=True)
class Report:
    """``overdue`` and ``faulty`` name at most 100 each, the longest late first; the counts go further."""

    overdue: Sequence[Overdue]
    overdue_count: int
    faulty: Sequence[Faulty]
    faulty_count: int


def report(now: datetime) -> Report:
    """Everything that is overdue, and what is faulty apart from it."""
    late = overdue(now)
    count = len(late)
    if count >= NAMED:
        count = max(count, _by_due(now)[: COUNTED + 1].count())
    broken = Schedule.objects.filter(fault_at__isnull=False, archived_at__isnull=True)
    named = [
        Faulty(*row) for row in broken.order_by("fault_at").values_list("id", "fault", "fault_at")[:NAMED]
    ]
    return Report(late, count, named, broken.count() if len(named) >= NAMED else len(named))


def overdue(now: datetime, limit: int = NAMED) -> list[Overdue]:
    """The first ``limit`` that are late by more than SCHEDULER__OVERDUE_SECONDS, the longest late first.

    What is paused, archived or faulty is not late.
    """
    if queries.pauses_in_force(now).filter(scope=PauseScope.ALL).exists():
        return []
    found = {(one.schedule_id, one.tenant_id): one for one in _distrustful.look(now)}
    lifted = _last_lift()
    rows = _by_due(now).select_related("schedule").order_by("next_due_at", "id")[:limit]
    for state in rows:
        due = state.next_due_at
        assert due is not None
        since = max(due, lifted) if lifted else due
        if now - since > _threshold():
            found[state.schedule_id, state.tenant_id] = _late(state.schedule_id, state.tenant_id, since, now)
    return sorted(found.values(), key=lambda one: (one.since, one.schedule_id, one.tenant_id))[:limit]


def _threshold() -> timedelta:
    return timedelta(seconds=config.get().scheduler.overdue_seconds)


def _late(schedule_id: str, tenant_id: str, since: datetime, now: datetime, reason: str = "") -> Overdue:
    return Overdue(
        schedule_id,
        tenant_id,
        since,
        (now - since).total_seconds(),
        reason or "no scheduler has looked at it",
    )


def _by_due(now: datetime) -> QuerySet[ScheduleState]:
    """States that somebody should have looked at; what is paused or archived has no ``next_due_at``."""
    rows = ScheduleState.objects.filter(next_due_at__lt=now - _threshold())
    return rows.filter(schedule__archived_at__isnull=True, schedule__fault_at__isnull=True)


def _last_lift() -> datetime | None:
    """When everything was last unpaused: nothing is late for what it waited before."""
    lifted = Pause.objects.filter(scope=PauseScope.ALL, lifted_at__isnull=False)
    return lifted.order_by("-id").values_list("lifted_at", flat=True).first()


# -- by cursor and timetable -------------------------------------------------------------------------


class _Distrustful:
    """Goes round the schedules, a few at each look, and looks again at whatever it found late."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._after = ""
        self._suspects: set[str] = set()

    def look(self, now: datetime) -> list[Overdue]:
        with self._lock:
            after, suspects = self._after, set(self._suspects)
        live = Schedule.objects.filter(archived_at__isnull=True, fault_at__isnull=True).exclude(
            trigger_type=TriggerType.MANUAL
        )
        part = list(live.filter(id__gt=after).order_by("id")[:SCHEDULES_A_LOOK])
        missing = suspects - {schedule.id for schedule in part}
        again = list(live.filter(id__in=missing)) if missing else []
        found = list(_unplanned([*part, *again], now))
        with self._lock:
            self._after = part[-1].id if len(part) == SCHEDULES_A_LOOK else ""
            self._suspects = {one.schedule_id for one in found[:NAMED]}
        return found


_distrustful = _Distrustful()


def _unplanned(schedules: Sequence[Schedule], now: datetime) -> Iterable[Overdue]:
    """Slots that are due by cursor and timetable while ``next_due_at`` says that there is nothing to do."""
    ids = [schedule.id for schedule in schedules]
    edge = now - _threshold()
    # A state that is to be looked at now or was a moment ago is the other look's affair.
    idle = Q(next_due_at__isnull=True) | Q(next_due_at__gt=now + SECOND)
    states: dict[str, list[ScheduleState]] = {}
    wanted = ScheduleState.objects.filter(idle, schedule_id__in=ids, last_planned_at__lt=edge)
    for state in wanted.order_by("schedule_id", "tenant_id")[: 10 * SCHEDULES_A_LOOK]:
        states.setdefault(state.schedule_id, []).append(state)
    planned = set(
        ScheduleState.objects.filter(schedule_id__in=ids).values_list("schedule_id", flat=True).distinct()
    )
    pauses = queries.pauses_of(ids, {s.tenant_id for found in states.values() for s in found}, now)
    for schedule in schedules:
        if schedule.id not in planned:
            if (
                schedule.audience == Audience.GLOBAL
                and schedule.created_at < edge
                and not pauses.of(schedule.id)
            ):
                yield _late(schedule.id, "", schedule.created_at, now, "it has no cursor: nobody plans it")
            continue
        for state in states.get(schedule.id, ()):
            if pauses.of(schedule.id, state.tenant_id) is None:
                slot = _slot_due(schedule, state)
                if slot is not None and slot < edge:
                    yield _late(
                        schedule.id,
                        state.tenant_id,
                        slot,
                        now,
                        "its slot is due and next_due_at passes it by",
                    )


def _slot_due(schedule: Schedule, state: ScheduleState) -> datetime | None:
    try:
        timetable = definition.timetable_of(schedule, state.tenant_id)
        limit = definition.policies_of(schedule).max_runs
    except TimetableError:
        return None  # it will be parked as faulty when its time comes
    if timetable.follows_end:
        return None  # it waits for the end of a job, which no timetable tells
    if limit is not None and state.fired >= limit:
        return None
    cursor = state.last_planned_at
    if state.revision != schedule.revision:
        cursor = max(cursor, schedule.edited_at)
    return timetable.next(cursor)


# -- telling -----------------------------------------------------------------------------------------

_told: frozenset[str] = frozenset()


def watch(now: datetime) -> Report:
    """Look, and tell (SchedulesOverdue) when other schedules are late than at the last look of this process."""
    global _told
    found = report(now)
    named = frozenset(one.name for one in found.overdue)
    if named != _told:
        _told = named
        oldest = max((one.seconds for one in found.overdue), default=0.0)
        events.emit(SchedulesOverdue(tuple(one.name for one in found.overdue), found.overdue_count, oldest))
    return found
