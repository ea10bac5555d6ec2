"""Job rows as a worker finds them when a run has just begun."""

from typing import Any

from jobsplatform.kernel import clock
from jobsplatform.kernel.ids import uuid7
from tasks.models import Job
from tasks.states import State


def running_job(**columns: Any) -> Job:
    """A job under its first lease, started now."""
    now = clock.now()
    values: dict[str, Any] = {
        "job_type": "tests.one",
        "handler_key": ":tests.one",
        "state": State.RUNNING,
        "lease": 1,
        "attempt": 1,
        "worker_id": uuid7(),
        "created_at": now,
        "updated_at": now,
        "due_at": now,
        "started_at": now,
        "first_started_at": now,
    }
    return Job.objects.create(**{**values, **columns})
