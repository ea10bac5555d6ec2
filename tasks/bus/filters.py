"""Filters that come over the bus: always within the calling app."""

from __future__ import annotations

from tasks.bus.calls import Call
from tasks.bus.job_schemas import EndedFilter, Filter
from tasks.filters import JobFilter


def own(call: Call, given: Filter | EndedFilter | None) -> JobFilter:
    """The app's own jobs that match. Raises InvalidInput."""
    wanted = {} if given is None else given.model_dump(exclude_none=True)
    return JobFilter.from_mapping({**wanted, "app_id": call.app_id})
