"""Instants as text, in one form everywhere: in keys, reasons and answers for programs."""

from __future__ import annotations

from datetime import UTC, datetime


def text(instant: datetime) -> str:
    """ISO 8601 in UTC, with a Z; microseconds only where there are some. Two equal instants have the same text."""
    return instant.astimezone(UTC).isoformat().replace("+00:00", "Z")
