"""Timetables with one slot, or with none. Pure."""

from __future__ import annotations

from datetime import datetime

from scheduler.timetables.base import Run


class Once:
    """One slot: a date."""

    follows_end = False

    def __init__(self, at: datetime) -> None:
        self.at = at

    @property
    def expression(self) -> str:
        """The instant, in UTC."""
        return f"at {self.at.isoformat()}"

    def next(self, after: datetime) -> datetime | None:
        """The slot while it is to come."""
        return self.at if self.at > after else None

    def previous(self, before: datetime) -> datetime | None:
        """The slot once it is past."""
        return self.at if self.at < before else None

    def matches(self, at: datetime) -> bool:
        """Whether ``at`` is the slot."""
        return at == self.at

    def count(self, after: datetime, until: datetime) -> int:
        """1 or 0."""
        return int(after < self.at <= until)

    def due(self, slot: datetime) -> datetime:
        """The slot itself."""
        return slot

    def excluded(self, after: datetime, until: datetime) -> list[Run]:
        """None."""
        return []


class Manual:
    """No slots: runs when somebody asks for it."""

    follows_end = False
    expression = "manual"

    def next(self, after: datetime) -> datetime | None:
        """None."""
        return None

    def previous(self, before: datetime) -> datetime | None:
        """None."""
        return None

    def matches(self, at: datetime) -> bool:
        """Never."""
        return False

    def count(self, after: datetime, until: datetime) -> int:
        """0."""
        return 0

    def due(self, slot: datetime) -> datetime:
        """The slot itself."""
        return slot

    def excluded(self, after: datetime, until: datetime) -> list[Run]:
        """None."""
        return []
