"""How long a job may stay deferred whose sidecar has named no deadline."""

from __future__ import annotations

from jobsplatform.kernel import config
from tasks import registry
from tasks.models import Job


def deferred_seconds(job: Job) -> float:
    """Until it fails: its time limit, else the setting."""
    handler = registry.find(job.app_id, job.job_type)
    limit = handler.spec.timeout if handler is not None else None
    return config.get().bus.deferred_seconds if limit is None else limit
