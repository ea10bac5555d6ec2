"""A timetable that cannot be: which field, what was read, and what to write instead."""

from __future__ import annotations


class TimetableError(ValueError):
    """Refused. ``code`` is stable (``CRON_RANGE``, ``ZONE_UNKNOWN``, …); ``field`` names the part (minute, hour,
    day-of-month, month, day-of-week, timezone, every, at, …); ``read`` is what stood there; ``suggestion`` may be
    empty."""

    def __init__(self, code: str, field: str, read: str, message: str, suggestion: str = "") -> None:
        super().__init__(f"{field}: {message}" + (f" {suggestion}" if suggestion else ""))
        self.code = code
        self.field = field
        self.read = read
        self.message = message
        self.suggestion = suggestion
