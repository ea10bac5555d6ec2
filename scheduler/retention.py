"""How long decisions about slots are kept."""

from __future__ import annotations

from datetime import datetime, timedelta

from jobsplatform.kernel import config


def kept_for(log_days: int | None) -> timedelta:
    """How long a decision is kept: ``log_days`` of its schedule, else SCHEDULER__LOG_RETENTION_DAYS."""
    days = config.get().scheduler.log_retention_days if log_days is None else log_days
    return timedelta(days=max(days, 0))


def purge_at(log_days: int | None, decided_at: datetime, last_slot: datetime | None = None) -> datetime:
    """When a decision may go: counted from the decision or from its last slot, whichever is later."""
    latest = decided_at if last_slot is None else max(decided_at, last_slot)
    try:
        return latest + kept_for(log_days)
    except OverflowError:  # a slot in the last days of the calendar
        return latest
