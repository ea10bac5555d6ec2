"""Schedules, slots, decisions and pauses as JSON. Names are added, never renamed; instants are text in UTC."""

from __future__ import annotations

from typing import Any

from jobsplatform.kernel.errors import PlatformError
from scheduler import definition, queries
from scheduler.models import Backfill, Pause, Schedule, ScheduleState
from scheduler.timetables.errors import TimetableError
from tasks.cli.json_output import instant


def schedule_output(schedule: Schedule) -> dict[str, Any]:
    """The definition of a schedule."""
    return {
        "id": schedule.id,
        "description": schedule.description,
        "job_type": schedule.job_type,
        "app_id": schedule.app_id,
        "params": schedule.params,
        "trigger_type": schedule.trigger_type,
        "trigger_config": schedule.trigger_config,
        "expression": expression(schedule),
        "timezone": schedule.timezone,
        "misfire": schedule.misfire,
        "misfire_grace_seconds": schedule.misfire_grace_seconds,
        "catch_up_window_seconds": schedule.catch_up_window_seconds,
        "catch_up_max": schedule.catch_up_max,
        "overlap": schedule.overlap,
        "latest_start_seconds": schedule.latest_start_seconds,
        "pause_after_failures": schedule.pause_after_failures,
        "priority": schedule.priority,
        "queue": schedule.queue,
        "max_attempts": schedule.max_attempts,
        "audience": schedule.audience,
        "tenants": schedule.tenants,
        "source": schedule.source,
        "module": schedule.module,
        "revision": schedule.revision,
        "fault": schedule.fault or None,
        "created_at": instant(schedule.created_at),
        "created_by": schedule.created_by,
        "updated_at": instant(schedule.updated_at),
        "archived_at": instant(schedule.archived_at),
    }


def expression(schedule: Schedule) -> str:
    """The rule as text; as it is stored when it cannot be read any more."""
    try:
        return definition.timetable_of(schedule).expression
    except (TimetableError, PlatformError):
        return str(schedule.trigger_config)


def listed_output(listed: queries.Listed) -> dict[str, Any]:
    """A schedule with where it stands."""
    return {
        **schedule_output(listed.schedule),
        "status": status(listed),
        "states": listed.states,
        "next_slot_at": instant(listed.next_slot_at),
        "last_fired_at": instant(listed.last_fired_at),
        "pause": None if listed.pause is None else pause_output(listed.pause),
        "last_decision": None if listed.last is None else decision_output(listed.last),
    }


def status(listed: queries.Listed) -> str:
    """One word for where a schedule stands."""
    if listed.schedule.archived_at is not None:
        return "archived"
    if listed.schedule.fault:
        return "faulty"
    if listed.pause is not None:
        return "paused"
    return "finished" if listed.finished else "active"


def state_output(state: ScheduleState) -> dict[str, Any]:
    """How far the slots of one tenant are decided."""
    return {
        "tenant_id": state.tenant_id,
        "last_planned_at": instant(state.last_planned_at),
        "last_fired_at": instant(state.last_fired_at),
        "last_triggered_at": instant(state.last_triggered_at),
        "last_checked_at": instant(state.last_checked_at),
        "next_due_at": instant(state.next_due_at),
        "next_slot_at": instant(state.next_slot_at),
        "fired": state.fired,
        "skips": list(state.skips),
    }


def decision_output(entry: queries.Entry) -> dict[str, Any]:
    """What was decided about a slot or a run of slots, and what became of it."""
    row = entry.row
    return {
        "schedule_id": row.schedule_id,
        "tenant_id": row.tenant_id,
        "planned_at": instant(row.planned_at),
        "planned_until": instant(row.planned_until),
        "slot_count": row.slot_count,
        "origin": row.origin,
        "triggered_at": instant(row.triggered_at),
        "status": row.status,
        "reason": row.reason,
        "task_id": None if row.task_id is None else str(row.task_id),
        "task_type": row.task_type,
        "outcome": str(entry.outcome) or None,
        "error": row.error,
    }


def pause_output(pause: Pause) -> dict[str, Any]:
    """A pause."""
    return {
        "scope": pause.scope,
        "target": pause.target,
        "automatic": pause.automatic,
        "author": pause.author,
        "reason": pause.reason,
        "resume_rule": pause.resume_rule,
        "created_at": instant(pause.created_at),
        "expires_at": instant(pause.expires_at),
        "lifted_at": instant(pause.lifted_at),
        "lifted_by": pause.lifted_by,
    }


def slot_outputs(slots: list[queries.Slot]) -> list[dict[str, Any]]:
    """Slots to come."""
    return [
        {
            "planned_at": instant(slot.planned_at),
            "due_at": instant(slot.due_at),
            "skipped": slot.skipped,
        }
        for slot in slots
    ]


def backfill_output(row: Backfill) -> dict[str, Any]:
    """A backfill and how far it is."""
    return {
        "id": str(row.id),
        "schedule_id": row.schedule_id,
        "tenant_id": row.tenant_id,
        "after": instant(row.after),
        "until": instant(row.until),
        "mode": row.mode,
        "concurrency": row.concurrency,
        "state": row.state,
        "total": row.total,
        "submitted": row.submitted,
        "passed_over": row.passed_over,
        "done": row.done,
        "failed": row.failed,
        "open": len(row.open),
        "note": row.note,
        "author": row.author,
        "created_at": instant(row.created_at),
        "ended_at": instant(row.ended_at),
    }
