"""Jobs that arrive over a Celery broker of the app's own: the extra ``celery``.

The platform puts each run into the queue ``bus.<app_id>.<service>`` of that broker, once an operator has named it; how
the run ends is told over the bus. The platform's own broker is never shared with a sidecar.
"""

from __future__ import annotations

import logging
from typing import Any

from celery import Celery

from jobsplatform_sdk.run_shapes import Assignment
from jobsplatform_sdk.sidecar import Sidecar

TASK = "jobsplatform.run"

logger = logging.getLogger("jobsplatform_sdk.sidecar")


def attach(sidecar: Sidecar, app: Celery) -> str:
    """Register the sidecar's handlers and give ``app`` the task by which their runs come; the queue to consume.

    Call it before the worker begins; runs are done by the worker's own pool. A message that is delivered twice runs
    nothing twice: the second finds its lease used up, or the first still at it. Raises ValueError for a sidecar of
    another transport, BusError for what cannot be registered.
    """
    if sidecar.transport != "celery":
        raise ValueError(f"transport: expected a sidecar made with 'celery', got {sidecar.transport!r}.")

    @app.task(name=TASK, ignore_result=True, shared=False)  # not for every other app of this process
    def run(delivery: dict[str, Any]) -> None:
        assignment = Assignment.read(delivery)
        if not sidecar.run_here(assignment):
            logger.info("job %s came twice; it is being done", assignment.job.id)

    sidecar.register()
    sidecar.reporter.start()
    return f"bus.{sidecar.app_id}.{sidecar.service}"
