"""The shipped job types; autodiscovery finds them here."""

from __future__ import annotations

from tasks.builtin.command import run_command
from tasks.builtin.files.scan import scan, scan_folder
from tasks.builtin.http.call import call
from tasks.builtin.maintenance.archive_logs import archive_logs
from tasks.builtin.maintenance.clear_sessions import clear_sessions
from tasks.builtin.maintenance.clear_temp import clear_temp
from tasks.builtin.maintenance.find_stuck import find_stuck
from tasks.builtin.maintenance.purge_jobs import purge_jobs
from tasks.builtin.maintenance.refresh_caches import refresh_caches
from tasks.builtin.maintenance.report import report

__all__ = [
    "archive_logs",
    "call",
    "clear_sessions",
    "clear_temp",
    "find_stuck",
    "purge_jobs",
    "refresh_caches",
    "report",
    "run_command",
    "scan",
    "scan_folder",
]
