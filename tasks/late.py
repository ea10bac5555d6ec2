"""Whether a job has waited past its latest start. Pure."""

from __future__ import annotations

from datetime import datetime
from typing import Protocol

from tasks.states import State


class Row(Protocol):
    """What is looked at in a job."""

    @property
    def state(self) -> str: ...
    @property
    def latest_start_at(self) -> datetime | None: ...
    @property
    def first_started_at(self) -> datetime | None: ...


def is_late(job: Row, now: datetime) -> bool:
    """Whether it may not begin any more. A job whose first run began in time may run again at any time."""
    return (
        job.latest_start_at is not None
        and job.latest_start_at < now
        and job.first_started_at is None
        and job.state in (State.PENDING, State.DISPATCHED)
    )
