"""Every read that others need of schedules. Nothing here writes."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from typing import TYPE_CHECKING, Any

from django.db.models import Count, Max, Min, OuterRef, Q, QuerySet, Subquery

from jobsplatform.kernel.errors import InvalidInput, nearest
from scheduler import after_end, definition
from scheduler.errors import ScheduleNotFound
from scheduler.log_reads import Entry, LogFilter, LogPage, entries, log_page, outcome_of
from scheduler.models import STATE_INSTANTS, Backfill, Pause, Schedule, ScheduleState, ScheduleTriggerLog
from scheduler.readable import told, unreadable_columns
from scheduler.states import Audience, PauseScope, TriggerType
from scheduler.timetables.base import Timetable
from scheduler.timetables.errors import TimetableError

if TYPE_CHECKING:
    from uuid import UUID

__all__ = [
    "Entry",
    "Listed",
    "LogFilter",
    "LogPage",
    "Pauses",
    "ScheduleFilter",
    "SchedulePage",
    "Shown",
    "Slot",
    "backfill_of",
    "entries",
    "find",
    "last_of_each",
    "listed",
    "log_page",
    "next_slots",
    "outcome_of",
    "page",
    "pauses_in_force",
    "pauses_of",
    "show",
    "skipped",
    "upcoming",
    "with_faults",
]

KNOWN_NAMES = 1000
"""As many ids are looked through for one like an unknown one."""
MOST_SLOTS = 1000


def find(schedule_id: str) -> Schedule:
    """The schedule with this id, archived or not. Raises ScheduleNotFound, which names the nearest."""
    found = Schedule.objects.filter(id=schedule_id).first()
    if found is None:
        raise ScheduleNotFound(schedule_id, _names_like(schedule_id))
    return found


def _names_like(schedule_id: str) -> list[str]:
    rows = Schedule.objects.filter(archived_at__isnull=True).order_by("id").values_list("id", flat=True)
    close = list(rows.filter(id__gte=schedule_id[:1])[:KNOWN_NAMES]) if schedule_id else []
    known = close if nearest(schedule_id, close) else list(rows[:KNOWN_NAMES])
    return known


# -- slots to come -----------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Slot:
    """A slot to come. ``due_at``: when its job may start (later by its jitter); ``skipped``: somebody wants it so."""

    planned_at: datetime
    due_at: datetime
    skipped: bool = False


def next_slots(
    schedule: Schedule, count: int = 10, *, after: datetime, tenant_id: str = "", skips: Iterable[str] = ()
) -> list[Slot]:
    """The next ``count`` slots (at most 1,000) after an instant; fewer when there are no more.

    Of an interval after each end only the next one is known, and none while its job is unfinished.
    ``skips``: of its state. A pause is not looked at. Raises TimetableError for a schedule that is faulty, and
    InvalidInput for a count below 1.
    """
    if not 1 <= count <= MOST_SLOTS:
        raise InvalidInput(f"count: expected a number from 1 to {MOST_SLOTS}, got {count}.")
    timetable = definition.timetable_of(schedule, tenant_id)
    if timetable.follows_end:
        return _after_end(schedule.id, tenant_id, timetable, after, skipped(skips))
    return list(_walk(timetable, after, count, skipped(skips)))


def _after_end(
    schedule_id: str, tenant_id: str, timetable: Timetable, after: datetime, skips: frozenset[datetime]
) -> list[Slot]:
    if after_end.base(schedule_id, tenant_id, after) is None:
        return []
    rows = ScheduleState.objects.filter(schedule_id=schedule_id, tenant_id=tenant_id, next_slot_at__gt=after)
    found = rows.values_list("next_slot_at", flat=True)
    return [Slot(slot, timetable.due(slot), slot in skips) for slot in found if slot is not None]


def _walk(timetable: Timetable, after: datetime, count: int, skips: frozenset[datetime]) -> Iterable[Slot]:
    slot = timetable.next(after)
    while slot is not None and count > 0:
        yield Slot(slot, timetable.due(slot), slot in skips)
        slot, count = timetable.next(slot), count - 1


def skipped(texts: Iterable[str]) -> frozenset[datetime]:
    """The instants of a state's ``skips``; what is none is left out."""
    found = set()
    for text in texts:
        try:
            found.add(datetime.fromisoformat(str(text)))
        except ValueError:
            continue
    return frozenset(found)


def upcoming(limit: int = 10) -> list[ScheduleState]:
    """The states whose next slot comes first, with their schedules; none that is paused, archived or finished."""
    rows = ScheduleState.objects.filter(next_due_at__isnull=False, next_slot_at__isnull=False)
    # By next_due_at, which is indexed: it is next_slot_at unless that slot is to be skipped or excluded.
    return list(rows.select_related("schedule").order_by("next_due_at", "id")[:limit])


# -- pauses ------------------------------------------------------------------------------------------


def pauses_in_force(now: datetime) -> QuerySet[Pause]:
    """Pauses that are not lifted and whose time has not passed."""
    return Pause.objects.filter(Q(expires_at__isnull=True) | Q(expires_at__gt=now), lifted_at__isnull=True)


@dataclass(frozen=True, slots=True)
class Pauses:
    """The pauses in force that concern some schedules and tenants."""

    everything: Pause | None
    by_schedule: Mapping[str, Pause]
    by_tenant: Mapping[str, Pause]

    def of(self, schedule_id: str, tenant_id: str = "") -> Pause | None:
        """The pause that stops this schedule for this tenant, the widest one first; None when it is not paused."""
        return self.everything or self.by_tenant.get(tenant_id) or self.by_schedule.get(schedule_id)


def pauses_of(schedule_ids: Iterable[str], tenant_ids: Iterable[str], now: datetime) -> Pauses:
    """All pauses in force for these, in one query."""
    wanted = (
        Q(scope=PauseScope.ALL)
        | Q(scope=PauseScope.TENANT, target__in={t for t in tenant_ids if t})
        | Q(scope=PauseScope.SCHEDULE, target__in=set(schedule_ids))
    )
    everything: Pause | None = None
    by_schedule: dict[str, Pause] = {}
    by_tenant: dict[str, Pause] = {}
    for pause in pauses_in_force(now).filter(wanted):
        if pause.scope == PauseScope.ALL:
            everything = pause
        else:
            (by_tenant if pause.scope == PauseScope.TENANT else by_schedule)[pause.target] = pause
    return Pauses(everything, by_schedule, by_tenant)


# -- schedules with what happened to them ------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class ScheduleFilter:
    """Schedules that match all that is given. ``search``: a part of the id, the description or the job type."""

    search: str = ""
    job_type: str = ""
    app_id: str | None = None
    source: str = ""
    trigger_type: TriggerType | str = ""
    faulty: bool | None = None
    archived: bool | None = False  # None: both

    def queryset(self) -> QuerySet[Schedule]:
        """The matching schedules, unordered."""
        rows = Schedule.objects.all()
        if self.search:
            rows = rows.filter(
                Q(id__icontains=self.search)
                | Q(description__icontains=self.search)
                | Q(job_type__icontains=self.search)
            )
        for name in ("job_type", "source", "trigger_type"):
            if value := getattr(self, name):
                rows = rows.filter(**{name: str(value)})
        if self.app_id is not None:
            rows = rows.filter(app_id=self.app_id)
        if self.faulty is not None:
            rows = rows.filter(fault_at__isnull=not self.faulty)
        if self.archived is not None:
            rows = rows.filter(archived_at__isnull=not self.archived)
        return rows


@dataclass(frozen=True, slots=True)
class Listed:
    """A schedule as a list shows it. ``states``: one a tenant it plans for; ``next_slot_at``, ``last_fired_at``: of
    any of them; ``last``: its last decision and what became of it; ``finished``: no slot will ever come (again)."""

    schedule: Schedule
    states: int
    pause: Pause | None
    last: Entry | None
    next_slot_at: datetime | None
    last_fired_at: datetime | None
    finished: bool


@dataclass(frozen=True, slots=True)
class SchedulePage:
    """One page of schedules by their ids; ``next`` is the cursor for the following one, or None."""

    rows: Sequence[Listed]
    next: str | None


def page(wanted: ScheduleFilter, *, now: datetime, limit: int = 50, after: str = "") -> SchedulePage:
    """Schedules in the order of their ids, by a keyset; as many queries for 1 as for 100."""
    found = list(wanted.queryset().filter(id__gt=after).order_by("id")[: limit + 1])
    shown = found[:limit]
    return SchedulePage(listed(shown, now), shown[-1].id if len(found) > limit else None)


def listed(schedules: Sequence[Schedule], now: datetime) -> list[Listed]:
    """These schedules with their states, pauses, last decisions and outcomes, in a constant number of queries."""
    ids = [schedule.id for schedule in schedules]
    states = {
        row["schedule_id"]: row
        for row in ScheduleState.objects.filter(schedule_id__in=ids)
        .order_by()
        .values("schedule_id")
        .annotate(
            number=Count("id"),
            slot=Min("next_slot_at"),
            due=Min("next_due_at"),
            fired=Max("last_fired_at"),
            last_planned_at=Max("last_planned_at"),
        )
    }
    pauses = pauses_of(ids, (), now)
    last = last_of_each(ids)
    for schedule in schedules:
        state = states.get(schedule.id, _NO_STATE)
        _note_faults(schedule, [{_NAMES.get(name, name): value for name, value in state.items()}])
    return [_listed(s, states.get(s.id, _NO_STATE), pauses.of(s.id), last.get(s.id)) for s in schedules]


_NO_STATE: Mapping[str, Any] = {"number": 0, "slot": None, "due": None, "fired": None}
_NAMES = {"slot": "next_slot_at", "due": "next_due_at", "fired": "last_fired_at"}


def _note_faults(schedule: Schedule, states: Iterable[Mapping[str, Any]]) -> None:
    """Have it shown as faulty when one of its states holds what is no instant, before a planner has come upon it."""
    if not schedule.fault:
        broken = [name for state in states for name in unreadable_columns(state, STATE_INSTANTS)]
        schedule.fault = told(sorted(set(broken))) if broken else ""


def with_faults(schedule: Schedule, states: Iterable[ScheduleState | None]) -> Schedule:
    """The same row, faulty also by what cannot be read of its states. It is for looking: it is not to be stored."""
    _note_faults(schedule, [state.__dict__ for state in states if state is not None])
    return schedule


def _listed(schedule: Schedule, state: Mapping[str, Any], pause: Pause | None, last: Entry | None) -> Listed:
    waits = bool(schedule.fault) or pause is not None or schedule.archived_at is not None
    planned = schedule.trigger_type != TriggerType.MANUAL and state["number"] > 0
    return Listed(
        schedule,
        state["number"],
        pause,
        last,
        None if waits else state["slot"],
        state["fired"],
        finished=planned and not waits and state["due"] is None,
    )


def last_of_each(schedule_ids: Sequence[str]) -> dict[str, Entry]:
    """The last decision of each schedule and what became of it, in three queries. Schedules without one are missing."""
    newest = ScheduleTriggerLog.objects.filter(schedule_id=OuterRef("pk")).order_by("-triggered_at", "-id")
    found = (
        Schedule.objects.filter(id__in=schedule_ids)
        .order_by()
        .annotate(last=Subquery(newest.values("id")[:1]))
        .values_list("last", flat=True)
    )
    rows = ScheduleTriggerLog.objects.filter(id__in=[row_id for row_id in found if row_id is not None])
    return {entry.row.schedule_id: entry for entry in entries(rows)}


STATES_SHOWN = 20
"""Of a schedule with many tenants."""


@dataclass(frozen=True, slots=True)
class Shown:
    """A schedule as its own page shows it. ``fault``: why its slots cannot be told (empty: they can)."""

    schedule: Schedule
    states: Sequence[ScheduleState]
    pause: Pause | None
    slots: Sequence[Slot]
    decisions: Sequence[Entry]
    backfills: Sequence[Backfill] = field(default=())
    fault: str = ""


def show(
    schedule_id: str, *, now: datetime, tenant_id: str = "", slots: int = 10, decisions: int = 50
) -> Shown:
    """One schedule with its next slots and last decisions. Raises ScheduleNotFound."""
    schedule = find(schedule_id)
    states = list(ScheduleState.objects.filter(schedule_id=schedule_id).order_by("tenant_id")[:STATES_SHOWN])
    own = ScheduleState.objects.filter(schedule_id=schedule_id, tenant_id=tenant_id).first()
    with_faults(schedule, [*states, own])
    fault, coming = schedule.fault, []
    try:
        coming = next_slots(
            schedule, slots, after=now, tenant_id=tenant_id, skips=own.skips if own is not None else ()
        )
    except TimetableError as error:
        fault = fault or str(error)
    rows = ScheduleTriggerLog.objects.filter(schedule_id=schedule_id)
    if schedule.audience != Audience.GLOBAL and tenant_id:
        rows = rows.filter(tenant_id=tenant_id)
    return Shown(
        schedule,
        states,
        pauses_of([schedule_id], [tenant_id], now).of(schedule_id, tenant_id),
        coming if schedule.archived_at is None else [],
        entries(rows.order_by("-triggered_at", "-id")[:decisions]),
        list(Backfill.objects.filter(schedule_id=schedule_id).order_by("-id")[:10]),
        fault,
    )


def backfill_of(backfill_id: UUID) -> Backfill | None:
    """The backfill with this id."""
    return Backfill.objects.filter(id=backfill_id).first()
