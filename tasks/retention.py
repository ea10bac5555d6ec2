"""How long ended jobs are kept: per type where declared, else per state by the settings."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import timedelta
from typing import Any

from jobsplatform.kernel import config
from tasks.models import Job
from tasks.states import State


def purge_after(job: Job, state: State | str, spec: Any = None) -> timedelta | None:
    """Time from the end to the removal of a job that ends in ``state``; None where the state is not final."""
    declared = getattr(spec, "retention", None)
    if isinstance(declared, Mapping):
        declared = declared.get(str(state))
    if declared is not None:
        return declared if isinstance(declared, timedelta) else timedelta(seconds=float(declared))
    tasks = config.get().tasks
    days = {
        State.COMPLETED: tasks.retention_completed_days,
        State.FAILED: tasks.retention_failed_days,
        State.CANCELLED: tasks.retention_cancelled_days,
    }.get(State(state))
    return None if days is None else timedelta(days=days)
