"""Screens of jobs, one file each. All they change goes through ``tasks.control`` or ``tasks.bus.bindings``."""

from __future__ import annotations

from tasks.admin import app_events, attempts, bindings, externals, jobs, suspensions

__all__ = ["app_events", "attempts", "bindings", "externals", "jobs", "suspensions"]
