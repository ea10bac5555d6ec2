"""The sentences about decisions: what each status and reason means for a person."""

from __future__ import annotations

from datetime import datetime

from jobsplatform.kernel.instants import text
from scheduler.log_reads import Entry
from scheduler.models import Pause, ScheduleTriggerLog
from scheduler.outcomes import UNFINISHED, Outcome
from scheduler.states import ORIGIN_AUTO, PauseScope, Status
from tasks.why import why_not_running

ERROR_SHOWN = 300

_REASONS = {
    "misfire": "nobody decided it while it was on time, and its misfire policy lets late slots go",
    "catch-up window": "when it could be decided it was older than the catch-up window",
    "limit": "its catch-up had had as many slots as it may (catch_up_max)",
    "paused": "it fell into a pause whose slots are not run",
    "skipped once": "somebody asked to skip it",
    "tenant suspended": "its tenant was suspended",
    "tenant archived": "its tenant was archived",
    "already_running": "a job of its exclusive type had not ended",
    "duplicate": "its type refuses a second job of the same key, and one had not ended",
    "excluded date": "its date is excluded",
}
_COALESCED = "coalesced into "


def reason_text(reason: str) -> str:
    """A reason of the trigger log in words; one that is not ours is given as it is."""
    if reason.startswith(_COALESCED):
        return f"of the slots that were missed only the newest ran: {reason.removeprefix(_COALESCED)}"
    return _REASONS.get(reason, reason)


def decided(row: ScheduleTriggerLog, at: datetime, pause: Pause | None) -> str:
    """What was decided about the slot, when, and why."""
    by = f" by {row.decided_by}" if row.decided_by else ""
    how = "" if row.origin == ORIGIN_AUTO else f" ({row.origin})"
    if row.status == Status.FIRED:
        late = (row.triggered_at - at).total_seconds()
        when = f"{late:.1f} s after its slot" if late >= 0 else f"{-late:.1f} s before its slot"
        return f"It fired at {text(row.triggered_at)}{by}{how}, {when}."
    at_what = text(row.triggered_at)
    among = f", {covers(row)}" if row.planned_until is not None else ""
    if row.status == Status.FAILED:
        error = " ".join(row.error.split())[:ERROR_SHOWN] or row.reason
        return f"It could not be made a job at {at_what}{by}: {error}"
    who = f" {paused(pause)}" if pause is not None else ""
    return f"It was decided {row.status} at {at_what}{by}{among}: {reason_text(row.reason)}.{who}"


def covers(row: ScheduleTriggerLog) -> str:
    """The range of a row, in words."""
    first, last = row.planned_at, row.planned_until
    assert first is not None and last is not None
    return f"one of {row.slot_count:,} slots from {text(first)} to {text(last)}"


def paused(pause: Pause) -> str:
    """Who paused what, since when, until when and why."""
    what = {
        PauseScope.ALL: "Everything",
        PauseScope.TENANT: f"Tenant {pause.target!r}",
        PauseScope.SCHEDULE: "The schedule",
    }[PauseScope(pause.scope)]
    is_was = "was" if pause.lifted_at is not None else "is"
    until = pause.lifted_at or pause.expires_at
    until_text = f" until {text(until)}" if until else ""
    why = f": {pause.reason}" if pause.reason else ""
    alone = " after failures in a row" if pause.automatic else ""
    return f"{what} {is_was} paused by {pause.author}{alone} since {text(pause.created_at)}{until_text}{why}."


def became(entry: Entry, now: datetime) -> str:
    """What became of the job of a fired slot."""
    job = entry.job
    if entry.outcome is Outcome.NONE:
        return f"It made no job: {reason_text(entry.row.reason)}."
    if job is None:
        return f"Its job {entry.row.task_id} is gone: its retention has passed."
    name = f"Its job {job.id}"
    if entry.outcome in UNFINISHED:
        return f"{name} is unfinished. {why_not_running(job, now)}"
    ended = text(job.finished_at) if job.finished_at else ""
    if entry.outcome is Outcome.RUN:
        return f"{name} completed at {ended}."
    if entry.outcome is Outcome.OVERLAPPED:
        return f"{name} was not run: an earlier job of the schedule had not ended (overlap)."
    if entry.outcome is Outcome.EXPIRED:
        return f"{name} was not run: it waited longer than its latest start."
    if entry.outcome is Outcome.CANCELLED:
        return f"{name} was cancelled at {ended} ({job.reason})."
    error = " ".join(str(getattr(job, "error_start", "")).split())
    return f"{name} failed at {ended}: {job.error_type or job.cause}{': ' + error if error else ''}"
