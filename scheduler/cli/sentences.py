"""What a schedule and its pause are, in words."""

from __future__ import annotations

from datetime import datetime

from scheduler import definition
from scheduler.models import Pause, Schedule
from scheduler.states import PauseScope, ResumeRule
from scheduler.timetables.describe import describe
from scheduler.timetables.errors import TimetableError
from tasks.cli.spans import age, instant
from tasks.cli.text import plain


def rule_sentence(schedule: Schedule) -> str:
    """When it runs, in English; empty for a rule that cannot be read any more."""
    try:
        return describe(definition.timetable_of(schedule))
    except TimetableError:
        return ""


def pause_name(scope: str, target: str) -> str:
    """``everything``, ``tenant acme``, ``nightly-report``."""
    if scope == PauseScope.ALL:
        return "everything"
    return f"tenant {target}" if scope == PauseScope.TENANT else target


def pause_sentence(pause: Pause, now: datetime) -> str:
    """Who paused what, since when, until when, why, and what becomes of its slots."""
    what = "" if pause.scope == PauseScope.SCHEDULE else f" ({pause_name(pause.scope, pause.target)})"
    who = "by itself" if pause.automatic else f"by {plain(pause.author)}"
    until = f", until {instant(pause.expires_at)}" if pause.expires_at else ""
    why = f": {plain(pause.reason)}" if pause.reason else ""
    after = (
        "" if pause.resume_rule == ResumeRule.DROP else " Its slots go by the misfire policy when it ends."
    )
    return f"Paused{what} {who} {age(pause.created_at, now)} ago{until}{why}.{after}".replace("..", ".")
