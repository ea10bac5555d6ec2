"""How long a run may go on after it was asked to stop."""

from __future__ import annotations

from jobsplatform.kernel import config
from tasks import registry
from tasks.models import Job


def grace_of(job: Job) -> float:
    """Seconds from a cancel request to the end of its run by force: the type's own, else the setting."""
    handler = registry.find(job.app_id, job.job_type)
    own = handler.spec.cancel_grace if handler is not None else None
    return config.get().tasks.cancel_grace_seconds if own is None else own
