"""Schedules on live pages: what the scheduler tells is hinted at, and read anew by whoever shows it."""

from __future__ import annotations

from collections.abc import Collection
from datetime import datetime
from typing import Any

from django.db.models import Q

from jobsplatform.kernel import clock, events
from scheduler import queries
from scheduler.events import (
    BackfillChanged,
    PauseChanged,
    ScheduleChanged,
    ScheduleFaulty,
    ScheduleMended,
    SlotDecided,
)
from scheduler.models import Pause, Schedule, ScheduleTriggerLog
from scheduler.states import PauseScope
from tasks.live import hints, sources
from tasks.output import iso


def install() -> None:
    """Let live pages hear of schedules."""
    for kind in (SlotDecided, ScheduleFaulty, ScheduleMended, ScheduleChanged, BackfillChanged):
        events.subscribe(kind, _changed)
    events.subscribe(PauseChanged, _paused)
    sources.read_schedules_by(shapes, written)


def _changed(event: Any) -> None:
    hints.note_schedule(event.schedule_id)


def _paused(event: PauseChanged) -> None:
    if event.scope == PauseScope.SCHEDULE:
        hints.note_schedule(event.target)


def shapes(ids: Collection[str]) -> dict[str, dict[str, Any]]:
    """How these schedules stand: revision, state, next slot, last decision. Instants are in UTC."""
    rows = list(Schedule.objects.filter(pk__in=ids))
    return {one.schedule.id: shape(one) for one in queries.listed(rows, clock.now())}


def written(since: datetime, most: int) -> set[str]:
    """The schedules that were changed, have decided, or were paused or resumed since then; about ``most`` of them."""
    found = set(Schedule.objects.filter(updated_at__gte=since).values_list("pk", flat=True)[:most])
    decided = ScheduleTriggerLog.objects.filter(triggered_at__gte=since).order_by("-triggered_at", "-id")
    found |= set(decided.values_list("schedule_id", flat=True)[:most])
    pauses = Pause.objects.filter(scope=PauseScope.SCHEDULE)
    moved = pauses.filter(Q(created_at__gte=since) | Q(lifted_at__gte=since)).order_by("-id")
    return found | set(moved.values_list("target", flat=True)[:most])


def shape(one: queries.Listed) -> dict[str, Any]:
    """One schedule, as a page shows it."""
    last = one.last
    return {
        "revision": one.schedule.revision,
        "state": state_of(one),
        "fault": one.schedule.fault,
        "next_slot_at": iso(one.next_slot_at),
        "last_fired_at": iso(one.last_fired_at),
        "last": None
        if last is None
        else {
            "planned_at": iso(last.row.planned_at),
            "status": str(last.row.status),
            "reason": last.row.reason,
            "job_id": str(last.row.task_id) if last.row.task_id else None,
        },
    }


def state_of(one: queries.Listed) -> str:
    """archived, faulty, paused, finished or active."""
    if one.schedule.archived_at is not None:
        return "archived"
    if one.schedule.fault:
        return "faulty"
    if one.pause is not None:
        return "paused"
    return "finished" if one.finished else "active"
