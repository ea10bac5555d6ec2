"""``maintenance.purge_jobs``: remove ended jobs whose retention has passed."""

from __future__ import annotations

from typing import Annotated

from pydantic import Field

from jobsplatform.kernel import clock
from tasks import prune
from tasks.context import JobContext
from tasks.handlers import job
from tasks.outcomes import Outcome


@job(
    "maintenance.purge_jobs",
    description="Remove ended jobs, and other old records, whose retention has passed.",
    public_params=("batch",),
    exclusive=True,
    on_interrupt="cancel",
)
def purge_jobs(context: JobContext, batch: Annotated[int, Field(ge=1, le=10_000)] = 500) -> Outcome:
    """Remove in batches until nothing is left to remove; workers go on meanwhile.

    The platform prunes a little all the time by itself; this clears a backlog at once.
    """
    removed = 0
    while True:
        context.check_cancel()
        found = prune.prune(clock.now(), batch=batch)
        if not found:
            return Outcome({"removed": removed}, count=removed)
        removed += found
        context.progress(removed, None, "rows removed")
