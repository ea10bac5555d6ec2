"""Every log line about schedules: one function an event, and nothing else writes any.

A slot's line tells its decision; what became of its job is told by the job's own lines.
"""

from __future__ import annotations

import logging
from collections.abc import Callable
from datetime import datetime
from typing import Any

from jobsplatform.kernel import events as kernel_events
from jobsplatform.kernel.durations import short
from jobsplatform.kernel.instants import text
from jobsplatform.telemetry.batching import BATCH
from jobsplatform.telemetry.logs import FIELDS
from scheduler import events
from scheduler.states import Status

logger = logging.getLogger("jobsplatform.schedules")

NAMES_SHOWN = 10
ERROR_LIMIT = 500


def install() -> None:
    """Subscribe to everything that is told here. Again changes nothing."""
    for kind, subscriber in _SUBSCRIBERS.items():
        kernel_events.subscribe(kind, subscriber)


def _write(level: int, event: str, text: str, fields: dict[str, Any], *, waits: bool = False) -> None:
    if logger.isEnabledFor(level):
        logger.log(level, event, extra={FIELDS: {"text": text, **fields}, BATCH: waits})


def _iso(instant: datetime | None) -> str | None:
    return None if instant is None else text(instant)


def _one_line(told: str) -> str:
    shown = " ".join(told.split())
    return shown if len(shown) <= ERROR_LIMIT else shown[: ERROR_LIMIT - 1] + "…"


# -- slots -------------------------------------------------------------------------------------------

_SLOTS = {
    Status.FIRED: (logging.DEBUG, "slot.fired"),
    Status.COALESCED: (logging.INFO, "slot.coalesced"),
    Status.SKIPPED: (logging.INFO, "slot.skipped"),
    Status.EXPIRED: (logging.INFO, "slot.expired"),
    Status.PAUSED: (logging.INFO, "slot.paused"),
    Status.EXCLUDED: (logging.INFO, "slot.excluded"),
    Status.FAILED: (logging.WARNING, "slot.failed"),
}


def slot_decided(event: events.SlotDecided) -> None:
    """``slot.fired`` (DEBUG), ``slot.failed`` (WARNING), ``slot.skipped`` and the other decisions (INFO)."""
    status = Status(event.status)
    level, name = _SLOTS[status]
    if not logger.isEnabledFor(level):
        return
    fields = {
        "schedule": event.schedule_id,
        "tenant": event.tenant_id or None,
        "planned_at": _iso(event.planned_at),
        "planned_until": _iso(event.planned_until),
        "slots": event.slots,
        "origin": event.origin,
        "reason": event.reason or None,
        "job_id": str(event.task_id) if event.task_id else None,
        "job": event.task_type or None,
        "late_ms": round(event.late_ms, 1),
        "decided_by": event.decided_by or None,
        "error": _one_line(event.error) or None,
    }
    _write(level, name, _slot_text(event, status), fields, waits=level < logging.WARNING)


def _slot_text(event: events.SlotDecided, status: Status) -> str:
    what = f"slot {_iso(event.planned_at)}" if event.planned_at else f"run {event.origin}"
    if event.slots > 1:
        what = f"{event.slots} slots from {_iso(event.planned_at)} to {_iso(event.planned_until)}"
    if status is Status.FIRED:
        after = f" after {short(event.late_ms)}" if event.planned_at else ""
        return f"schedule {event.schedule_id}: {what} fired{after}"
    why = _one_line(event.error) if status is Status.FAILED else event.reason
    return f"schedule {event.schedule_id}: {what} {status} — {why or event.reason}"


# -- schedules ---------------------------------------------------------------------------------------


def faulty(event: events.ScheduleFaulty) -> None:
    told = _one_line(event.fault)
    line = f"schedule {event.schedule_id} is faulty and decides nothing until it is mended — {told}"
    _write(logging.WARNING, "schedule.faulty", line, {"schedule": event.schedule_id, "error": told})


def mended(event: events.ScheduleMended) -> None:
    line = f"schedule {event.schedule_id} can be planned again"
    _write(logging.INFO, "schedule.mended", line, {"schedule": event.schedule_id})


def changed(event: events.ScheduleChanged) -> None:
    fields = {
        "schedule": event.schedule_id,
        "author": event.actor,
        "revision": event.revision,
        "source": event.source or None,
    }
    line = f"schedule {event.schedule_id} {event.change} by {event.actor}"
    _write(logging.INFO, f"schedule.{event.change}", line, fields)


def overdue(event: events.SchedulesOverdue) -> None:
    if not event.count:
        _write(logging.INFO, "schedule.on_time", "no schedule is overdue any more", {"count": 0})
        return
    names = ", ".join(event.named[:NAMES_SHOWN]) + (", …" if event.count > NAMES_SHOWN else "")
    line = f"{event.count} schedules are overdue, the longest {short(event.oldest_seconds * 1000)}: {names}"
    fields = {
        "count": event.count,
        "schedules": list(event.named[:NAMES_SHOWN]),
        "oldest_s": round(event.oldest_seconds, 1),
    }
    _write(logging.WARNING, "schedule.overdue", line, fields)


def pause_changed(event: events.PauseChanged) -> None:
    """``pause.opened``, ``pause.lifted``; one after failures in a row is ``pause.automatic``."""
    what = {"all": "everything", "tenant": f"tenant {event.target}", "schedule": f"schedule {event.target}"}
    name = "pause.lifted" if not event.open else "pause.automatic" if event.automatic else "pause.opened"
    done = "paused" if event.open else "goes on,"
    fields = {
        "scope": event.scope,
        "target": event.target,
        "author": event.author,
        "reason": event.reason or None,
    }
    line = f"{what.get(event.scope, event.scope)} {done} by {event.author}"
    if event.reason and event.open:
        line += f" — {_one_line(event.reason)}"
    _write(logging.WARNING if event.open else logging.INFO, name, line, fields)


def backfill_changed(event: events.BackfillChanged) -> None:
    """``backfill.started``, ``backfill.done``, ``backfill.cancelled``."""
    state = "started" if event.state == "running" else event.state
    fields = {
        "backfill_id": str(event.backfill_id),
        "schedule": event.schedule_id,
        "tenant": event.tenant_id or None,
        "total": event.total,
        "submitted": event.submitted,
        "passed_over": event.passed_over,
        "failed": event.failed,
        "note": event.note or None,
    }
    line = f"backfill of schedule {event.schedule_id} {state}: {event.total} slots"
    if state != "started":
        line += f", {event.submitted} run, {event.passed_over} passed over, {event.failed} failed"
    _write(logging.INFO, f"backfill.{state}", line, fields)


_SUBSCRIBERS: dict[type, Callable[[Any], None]] = {
    events.SlotDecided: slot_decided,
    events.ScheduleFaulty: faulty,
    events.ScheduleMended: mended,
    events.ScheduleChanged: changed,
    events.SchedulesOverdue: overdue,
    events.PauseChanged: pause_changed,
    events.BackfillChanged: backfill_changed,
}
