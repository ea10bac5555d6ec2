"""The named moments of a trigger. Nothing happens at them, but a test may put a crash there."""

from __future__ import annotations

STEPS = ("planned", "before_job", "before_log", "before_cursor", "before_commit", "committed")


def reached(name: str) -> None:
    """One of STEPS has come, in the order of that list; all but the last lie inside the transaction."""
