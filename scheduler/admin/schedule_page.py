"""The page of one schedule: where it stands, what comes, what was decided, and its buttons."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from datetime import datetime
from typing import Any
from zoneinfo import ZoneInfo

from django.http import HttpRequest
from django.utils.html import format_html
from django.utils.safestring import SafeString

from jobsplatform.kernel import clock
from scheduler import backfill, definition, queries, timetables
from scheduler.admin import looks
from scheduler.admin.addresses import backfill_url, list_url, log_url, verb_url
from scheduler.log_reads import Entry
from scheduler.models import Backfill, Pause, Schedule, ScheduleState
from scheduler.states import Audience, PauseScope, TriggerType
from scheduler.timetables.errors import TimetableError
from tasks import registry
from tasks.admin import live, shapes
from tasks.admin.job_page import Button

SLOTS = 10
DECISIONS = 20
CHANGES = 6


class SchedulePage:
    """Part of the schedule admin: what the page of a schedule shows."""

    page_template = "scheduler/admin/schedule.html"

    def page_context(self, request: HttpRequest, record: Schedule) -> dict[str, Any]:
        """For a schedule of tenants, as one of them sees it: ``?tenant=``, or the first."""
        now = clock.now()
        tenant = tenant_of(record, request.GET.get("tenant", ""))
        shown = queries.show(record.id, now=now, tenant_id=tenant, slots=SLOTS, decisions=DECISIONS)
        listed = queries.listed([record], now)[0]
        zone = looks.zone_of(record.timezone)
        own = ScheduleState.objects.filter(schedule_id=record.id, tenant_id=tenant).first()
        pause = shown.pause or listed.pause
        word = looks.state_word(listed) if pause is None or shown.fault else "paused"
        may_see = request.user.has_perm("tasks.view_payload")
        return {
            "title": record.id,
            "topics": live.topics(f"schedule:{record.id}"),
            "now": now.isoformat(),
            "badge": looks.state_badge("faulty" if shown.fault and word == "active" else word),
            "sentence": looks.sentence(record),
            "fault": shown.fault,
            "fault_at": shapes.instant(record.fault_at) if record.fault_at else "",
            "pause": _pause(pause) if pause is not None and record.archived_at is None else None,
            "archived": shapes.instant(record.archived_at) if record.archived_at else "",
            "facts": _facts(record, own, zone),
            "zone": zone.key,
            "slots": [_slot(slot, zone, now) for slot in shown.slots],
            "why_no_slots": _why_no_slots(record, shown, listed),
            "may_skip": request.user.has_perm("scheduler.skip_schedule") and record.archived_at is None,
            "skip_url": verb_url(record.id, "skip"),
            "unskip_url": verb_url(record.id, "unskip"),
            "tenant": tenant,
            "tenants": [state.tenant_id for state in shown.states if state.tenant_id],
            "more_tenants": listed.states > len(shown.states),
            "states_url": list_url("schedulestate", q=record.id),
            "decisions": [decision(entry, zone, now) for entry in shown.decisions],
            "log_url": list_url("scheduletriggerlog", schedule=record.id),
            "history_url": verb_url(record.id, "history")
            if request.user.has_perm("kernel.view_auditevent")
            else "",
            "changes": clock_changes(record, zone, now),
            "backfills": [_backfill(row) for row in shown.backfills],
            "params": shapes.pretty(_params(record, may_see)),
            "may_see": may_see,
            "buttons": _buttons(request, record, pause, now),
        }


def tenant_of(schedule: Schedule, wanted: str) -> str:
    """The tenant that is looked at: the wanted one when the schedule plans for it, else the first."""
    if schedule.audience == Audience.GLOBAL:
        return ""
    states = ScheduleState.objects.filter(schedule_id=schedule.id)
    if wanted and "\x00" not in wanted and states.filter(tenant_id=wanted).exists():
        return wanted
    return states.order_by("tenant_id").values_list("tenant_id", flat=True).first() or ""


def decision(entry: Entry, zone: ZoneInfo, now: datetime) -> dict[str, Any]:
    """A line of the trigger log."""
    row = entry.row
    late = entry.lateness
    return {
        "url": log_url(row.id),
        "slot": looks.slot(row, zone),
        "tenant": row.tenant_id,
        "decision": looks.decision_badge(row),
        "outcome": looks.outcome_badge(entry),
        "reason": row.reason or row.error.partition("\n")[0][:300],
        "origin": "" if row.origin == "auto" else row.origin.partition(":")[0],
        "decided": looks.distance(row.triggered_at, now),
        "late": shapes.short(late.total * 1000) if late is not None and late.total is not None else "",
        "job": shapes.job_link(row.task_id, f"job {str(row.task_id)[-12:]}") if row.task_id else "",
    }


def clock_changes(schedule: Schedule, zone: ZoneInfo, now: datetime) -> list[str]:
    """The coming clock changes that its times fall into, as sentences."""
    try:
        found = timetables.clock_changes(definition.timetable_of(schedule), schedule.timezone, now)
    except TimetableError:
        return []
    return [change_sentence(change, zone) for change in found[:CHANGES]]


def change_sentence(change: timetables.ClockChange, zone: ZoneInfo) -> str:
    """What a change of the clocks does to a timetable."""
    verb = "skip" if change.kind == "gap" else "repeat"
    runs = ", ".join(f"{slot.astimezone(zone):%H:%M %Z}" for slot in change.slots)
    told = f" It runs at {runs}." if runs else " It does not run."
    return f"{change.day}: the clocks {verb} {', '.join(change.times)}; {change.rule}.{told}"


def _pause(pause: Pause) -> dict[str, Any]:
    return {
        "sentence": looks.pause_sentence(pause),
        "since": shapes.instant(pause.created_at),
        "until": shapes.instant(pause.expires_at) if pause.expires_at else "",
        "rule": "Slots up to its end are noted as paused and do not run."
        if pause.resume_rule == "drop"
        else "At its end its slots count as late ones: the misfire policy decides.",
        "automatic": pause.automatic,
    }


def _slot(slot: queries.Slot, zone: ZoneInfo, now: datetime) -> dict[str, Any]:
    return {
        "at": looks.in_zone(slot.planned_at, zone),
        "iso": slot.planned_at.isoformat(),
        "distance": looks.distance(slot.planned_at, now),
        "due": f"{slot.due_at.astimezone(zone):%H:%M:%S}" if slot.due_at != slot.planned_at else "",
        "skipped": slot.skipped,
    }


def _why_no_slots(record: Schedule, shown: queries.Shown, listed: queries.Listed) -> str:
    if record.archived_at is not None:
        return "It is archived: nothing comes until it is restored."
    if shown.fault:
        return "It cannot be planned before it is mended."
    if record.trigger_type == TriggerType.MANUAL:
        return "It has no timetable: it runs when somebody runs it."
    if not listed.states:
        return "It runs for tenants, and there is none yet."
    if (record.trigger_config or {}).get("from") == "last_end":
        return "The next slot follows the end of the run before."
    return "None: it is done." if listed.finished or not shown.slots else ""


def _backfill(row: Backfill) -> dict[str, Any]:
    progress = backfill.progress(row)
    ended = progress.done + progress.failed + progress.passed_over
    return {
        "url": backfill_url(row.id),
        "name": f"{row.get_mode_display().lower()} slots {row.after:%Y-%m-%d %H:%M} – {row.until:%Y-%m-%d %H:%M} UTC",
        "state": backfill_badge(row),
        "bar": shapes.bar(ended, progress.total, row.note),
    }


def backfill_badge(row: Backfill) -> SafeString:
    """Where a backfill stands."""
    return shapes.badge(row.state, {"running": "moving", "done": "good"}.get(row.state, "quiet"), row.note)


def _params(record: Schedule, may_see: bool) -> Any:
    """All of them, or those that the job type calls public."""
    if may_see:
        return record.params
    handler = registry.find(record.app_id, record.job_type)
    public = handler.spec.public_params if handler is not None else ()
    stored = record.params if isinstance(record.params, Mapping) else {}
    return {name: stored[name] for name in public if name in stored}


def _facts(record: Schedule, state: ScheduleState | None, zone: ZoneInfo) -> list[tuple[str, Any]]:
    def seconds(value: float | None) -> str:
        return "" if value is None else f"{value:g} s"

    code = record.source == Schedule.Source.CODE
    facts: list[tuple[str, Any]] = [
        ("Description", record.description),
        ("Job type", looks.job_type(record)),
        ("Rule", _expression(record)),
        ("Time zone", record.timezone),
        ("Runs for", looks.audience(record)),
        ("Late slots", record.get_misfire_display() if record.trigger_type != TriggerType.MANUAL else ""),
        ("Grace", seconds(record.misfire_grace_seconds)),
        ("Catch-up window", seconds(record.catch_up_window_seconds)),
        ("Catch-up bound", record.catch_up_max),
        ("Overlap", record.overlap or "the job type decides"),
        ("Latest start", seconds(record.latest_start_seconds)),
        ("Pause after", f"{record.pause_after_failures} failures in a row" if record.pause_after_failures else ""),
        ("Priority", shapes.priority(record.priority) if record.priority is not None else ""),
        ("Queue", record.queue),
        ("Attempts", record.max_attempts),
        ("Declared", f"in code: {record.module}" if code else f"by {record.created_by or 'somebody'}"),
        ("Made", shapes.instant(record.created_at)),
        ("Rule since", shapes.instant(record.edited_at)),
        ("Revision", record.revision),
    ]  # fmt: skip
    if state is not None:
        facts += [
            ("Decided up to", looks.in_zone(state.last_planned_at, zone)),
            ("Last fired slot", looks.in_zone(state.last_fired_at, zone) if state.last_fired_at else ""),
            ("Looked at", shapes.instant(state.last_checked_at) if state.last_checked_at else ""),
            ("Slots fired", f"{state.fired:,}"),
        ]
    return [(name, value) for name, value in facts if value not in ("", None)]


def _expression(record: Schedule) -> str | SafeString:
    try:
        return format_html("<code>{}</code>", definition.timetable_of(record).expression)
    except TimetableError:
        return format_html("<code>{}</code>", str(record.trigger_config)[:500])


def _buttons(request: HttpRequest, record: Schedule, pause: Pause | None, now: datetime) -> dict[str, Any]:
    """``links`` lead to forms, ``verbs`` act at once; each only for who may."""
    may: Callable[[str], bool] = request.user.has_perm
    live, mine = record.archived_at is None, record.source != Schedule.Source.CODE
    forgotten = not live  # one of the code that the code no longer declares can be removed too
    links: list[tuple[str, str, str]] = []
    verbs: list[Button] = []

    def url(name: str) -> str:
        return verb_url(record.id, name)

    if live and may("scheduler.run_schedule"):
        links.append(("Run now …", url("run"), "primary"))
    own = Pause.objects.filter(scope=PauseScope.SCHEDULE, target=record.id, lifted_at=None)
    paused = own.exclude(expires_at__lte=now).exists()
    if live and may("scheduler.pause_schedule"):
        if paused:
            verbs.append(Button("Resume", url("resume"), "primary"))
        links.append(("Change the pause …" if paused else "Pause …", url("pause"), ""))
    if live and may("scheduler.backfill_schedule") and record.trigger_type != TriggerType.MANUAL:
        links.append(("Backfill …", url("backfill"), ""))
    if live and mine and may("scheduler.change_schedule"):
        links.append(("Edit …", url("edit"), ""))
        verbs.append(Button("Archive", url("archive"), "danger", f"Archive {record.id}? It can be restored."))
    if not live and mine and may("scheduler.change_schedule"):
        verbs.append(Button("Restore", url("restore"), "primary"))
    if (mine or forgotten) and may("scheduler.delete_schedule"):
        ask = f"Delete {record.id} for ever? Its log and its jobs stay as long as they are kept."
        verbs.append(Button("Delete", url("remove"), "danger", ask))
    return {"links": links, "verbs": verbs}
