"""Screens of jobs, one file each. All they change goes through ``tasks.control``."""

from __future__ import annotations

from tasks.admin import attempts, jobs, suspensions

__all__ = ["attempts", "jobs", "suspensions"]
