"""How schedules, slots and decisions look in the admin. Everything given is escaped."""

from __future__ import annotations

from datetime import datetime, timedelta
from zoneinfo import ZoneInfo

from django.utils.html import format_html
from django.utils.safestring import SafeString

from jobsplatform.kernel.errors import PlatformError
from jobsplatform.kernel.instants import WORD, unreadable
from scheduler import definition, timetables
from scheduler.log_reads import Entry
from scheduler.models import Pause, Schedule, ScheduleTriggerLog
from scheduler.queries import Listed
from scheduler.states import Audience, PauseScope, Status
from scheduler.timetables.errors import TimetableError
from tasks.admin import shapes

SECOND, MINUTE = timedelta(seconds=1), timedelta(minutes=1)

_STATUS = {
    Status.FIRED: "good",
    Status.COALESCED: "moving",
    Status.SKIPPED: "warning",
    Status.EXPIRED: "warning",
    Status.PAUSED: "warning",
    Status.EXCLUDED: "quiet",
    Status.FAILED: "bad",
}
_OUTCOME = {
    "waiting": "waiting",
    "running": "moving",
    "paused": "warning",
    "run": "good",
    "failed": "bad",
    "overlapped": "warning",
    "expired": "warning",
    "cancelled": "quiet",
    "gone": "quiet",
}
_STATE = {"active": "good", "paused": "warning", "faulty": "bad", "archived": "quiet", "done": "quiet"}


def zone_of(name: str) -> ZoneInfo:
    """The zone of this name; UTC for one that is not known any more, so that its schedule can still be looked at."""
    try:
        return timetables.zone(name)
    except TimetableError:
        return timetables.zone("UTC")


def in_zone(value: datetime | None, zone: ZoneInfo) -> SafeString:
    """A moment on the wall clock of a zone, with the zone's short name; the exact UTC moment is in the attribute."""
    if value is None:
        return SafeString(shapes.NOTHING)
    local = value.astimezone(zone)
    return format_html(
        '<time class="jp-nowrap" datetime="{}" title="{}, {}">{} <small>{}</small></time>',
        value.isoformat(),
        value.isoformat(),
        zone.key,
        local.strftime("%a %Y-%m-%d %H:%M:%S"),
        local.tzname() or "",
    )


def distance(value: datetime, now: datetime) -> str:
    """``in 4m``, ``3s ago``."""
    if unreadable(value):
        return WORD
    length = abs(value - now)
    told = shapes.span(length) if length >= MINUTE else f"{length // SECOND}s"
    return f"in {told}" if value >= now else f"{told} ago"


def sentence(schedule: Schedule) -> str:
    """The timetable in English; for one that cannot be read (any more), its stored text."""
    try:
        return timetables.describe(definition.timetable_of(schedule))
    except (TimetableError, PlatformError):
        return f"cannot be read: {schedule.trigger_config} ({schedule.timezone})"[:200]


def state_word(listed: Listed) -> str:
    """One word for where a schedule stands."""
    if listed.schedule.archived_at is not None:
        return "archived"
    if listed.schedule.fault:
        return "faulty"
    if listed.pause is not None:
        return "paused"
    return "done" if listed.finished else "active"


def state_badge(word: str, why: str = "") -> SafeString:
    """A schedule's state."""
    return shapes.badge(word, _STATE.get(word, "quiet"), why)


def why_state(listed: Listed) -> str:
    """The reason behind the state, for the tooltip."""
    if listed.schedule.fault:
        return listed.schedule.fault
    return pause_sentence(listed.pause) if listed.pause is not None else ""


def pause_sentence(pause: Pause) -> str:
    """What is paused, by whom and why."""
    what = {
        PauseScope.ALL: "Everything is paused",
        PauseScope.TENANT: f"The tenant {pause.target} is paused",
        PauseScope.SCHEDULE: "Paused",
    }.get(PauseScope(pause.scope), "Paused")
    return f"{what} by {pause.author}{f': {pause.reason}' if pause.reason else ''}"


def decision_badge(row: ScheduleTriggerLog) -> SafeString:
    """What was decided, with the reason in the tooltip."""
    status = row.status
    return shapes.badge(status, _STATUS.get(Status(status), "quiet"), row.reason)


def outcome_badge(entry: Entry) -> SafeString:
    """What became of a fired slot; nothing for one that did not fire."""
    if not entry.outcome:
        return SafeString("")
    word = str(entry.outcome)
    return shapes.badge(word, _OUTCOME.get(word, "quiet"), entry.job.reason if entry.job is not None else "")


def slot(row: ScheduleTriggerLog, zone: ZoneInfo) -> SafeString:
    """The slot, or the range of slots, that was decided about."""
    if row.planned_at is None:
        return SafeString("without a slot")
    first = in_zone(row.planned_at, zone)
    if row.planned_until is None:
        return first
    return format_html(
        "{} – {} <small>{} slots</small>", first, in_zone(row.planned_until, zone), f"{row.slot_count:,}"
    )


def audience(schedule: Schedule) -> str:
    """For whom it runs."""
    if schedule.audience == Audience.EVERY:
        return "every tenant"
    if schedule.audience == Audience.NAMED:
        named = [str(name) for name in schedule.tenants]
        return f"{', '.join(named[:10])}{f' and {len(named) - 10:,} more' if len(named) > 10 else ''}"
    return ""


def job_type(schedule: Schedule) -> str:
    """``type`` or ``app:type``."""
    return f"{schedule.app_id}:{schedule.job_type}".lstrip(":")
