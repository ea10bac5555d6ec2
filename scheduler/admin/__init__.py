"""Screens of schedules, one file each. What they change goes through ``scheduler.control`` and ``backfill``."""

from __future__ import annotations

from importlib import import_module

from django.apps import apps

from scheduler.admin import backfills, cursors, log, pauses, schedules

__all__ = ["backfills", "cursors", "log", "pauses", "schedules"]

if apps.is_installed("django_celery_beat"):  # a project of somebody's own may do without
    import_module("scheduler.admin.celery_beat")
