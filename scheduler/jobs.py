"""The job types that this app ships; autodiscovery finds them here."""

from __future__ import annotations

from scheduler.archive_slots import archive_slots

__all__ = ["archive_slots"]
