"""How single values look in the admin: badges, bars, instants, ages. Everything given is escaped."""

from __future__ import annotations

import json
import math
from datetime import datetime, timedelta
from typing import Any

from django.urls import reverse
from django.utils import timezone
from django.utils.html import format_html
from django.utils.safestring import SafeString

from jobsplatform.kernel import clock
from jobsplatform.kernel.durations import short
from jobsplatform.kernel.instants import WORD, unreadable
from tasks.models import Job
from tasks.states import Priority, State

NOTHING = "–"
JSON_SHOWN = 20_000
"""Characters of a payload that a page shows."""

TONES: dict[str, str] = {
    State.PENDING: "waiting",
    State.DISPATCHED: "moving",
    State.RUNNING: "moving",
    State.WAITING: "waiting",
    State.PAUSED: "warning",
    State.COMPLETED: "good",
    State.FAILED: "bad",
    State.CANCELLED: "quiet",
}

_STEPS = {int(step): step.name.replace("_", " ").lower() for step in Priority}


def badge(text: str, tone: str = "quiet", title: str = "") -> SafeString:
    """A coloured word; the word itself says it too, for those who see no colours."""
    return format_html('<span class="jp-badge jp-{}" title="{}">{}</span>', tone, title, text)


def state_badge(state: str, hold: str = "", title: str = "") -> SafeString:
    """A job's state, with what holds it back."""
    return badge(f"{state}: {hold}" if hold else state, TONES.get(state, "quiet"), title)


_ENDINGS = {
    "complete": "good", "wait": "good", "fail": "bad", "crash": "bad", "retry": "warning", "lose": "warning",
    "pause": "warning",
}  # fmt: skip


def outcome_badge(move: str, cause: str = "") -> SafeString:
    """How a run ended: the name of the move, and the cause of a bad end."""
    return badge(f"{move}: {cause}" if cause else move, _ENDINGS.get(move, "quiet"))


def bar(done: float | None, total: float | None, label: str = "", eta: float | None = None) -> SafeString:
    """A progress bar, or the bare count where the end is unknown; ``eta``: the seconds that are left.

    The scripts of live pages draw the same (static/tasks/live/looks.js).
    """
    if done is None:
        return SafeString(NOTHING)
    left = _left(eta)
    if not total or total <= 0:
        return format_html(
            '<span class="jp-progress jp-bare" title="{}"><span class="jp-percent">{}</span>{}</span>',
            label, f"{done:,.0f}", left,
        )  # fmt: skip
    share = max(0.0, min(done / total, 1.0))
    percent = f"{share * 100:.0f}"
    told = f"{done:,.0f} of {total:,.0f}{' – ' + label if label else ''}"
    return format_html(
        '<span class="jp-progress" title="{}"><progress max="100" value="{}" aria-label="Progress">{}%</progress>'
        '<span class="jp-percent">{}%</span>{}</span>',
        told, percent, percent, percent, left,
    )  # fmt: skip


def _left(eta: float | None) -> SafeString:
    if eta is None:
        return SafeString('<small class="jp-eta"></small>')
    text = f"{math.ceil(eta)}s" if eta < 60 else short(eta * 1000)
    until = clock.now() + timedelta(seconds=eta)
    return format_html('<small class="jp-eta" data-jp-until="{}">{} left</small>', until.isoformat(), text)


def instant(value: datetime | None) -> SafeString:
    """A moment in the site's time zone, which is named; the exact UTC moment is in the attribute."""
    if value is None:
        return SafeString(NOTHING)
    local = timezone.localtime(value)
    return format_html(
        '<time class="jp-nowrap" datetime="{}" title="{}">{} <small>{}</small></time>',
        value.isoformat(), value.isoformat(), local.strftime("%Y-%m-%d %H:%M:%S"), local.tzname() or "",
    )  # fmt: skip


def age(since: datetime | None, now: datetime) -> SafeString:
    """How long ago, with the moment itself behind it."""
    if since is None:
        return SafeString(NOTHING)
    local = timezone.localtime(since)
    moment = f"{local.strftime('%Y-%m-%d %H:%M:%S')} {local.tzname() or ''}".strip()
    return format_html(
        '<time class="jp-nowrap" data-jp-age datetime="{}" title="{}">{}</time>',
        since.isoformat(),
        moment,
        WORD if unreadable(since) else span(now - since),
    )


def span(length: timedelta | None) -> str:
    """``4m30s``."""
    return NOTHING if length is None else short(length.total_seconds() * 1000)


def priority(value: int) -> str:
    """``user action`` for a named step, else the number."""
    return _STEPS.get(value, str(value))


def pretty(value: Any) -> str:
    """JSON for reading; cut where a page would drown in it."""
    text = json.dumps(value, indent=2, ensure_ascii=False, default=str)
    if len(text) <= JSON_SHOWN:
        return text
    return f"{text[:JSON_SHOWN]}\n… {len(text) - JSON_SHOWN:,} more characters"


def job_url(job_id: object) -> str:
    """The page of a job."""
    return reverse("admin:tasks_job_change", args=[str(job_id)])


def job_link(job_id: object, text: str = "") -> SafeString:
    """A link to a job; its id is the text unless another is given."""
    return format_html('<a class="jp-link" href="{}">{}</a>', job_url(job_id), text or str(job_id))


def name_of(job: Job) -> str:
    """The job type, with its app before it when it has one."""
    return job.handler_key.lstrip(":")


def joined(parts: list[SafeString]) -> SafeString:
    """Several pieces, one after the other."""
    return SafeString(" ".join(parts))
