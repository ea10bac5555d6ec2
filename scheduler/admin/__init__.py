"""Screens of schedules, one file each. What they change goes through ``scheduler.control`` and ``backfill``."""

from __future__ import annotations

from scheduler.admin import backfills, celery_beat, cursors, log, pauses, schedules

__all__ = ["backfills", "celery_beat", "cursors", "log", "pauses", "schedules"]
