"""A sidecar that cannot be connected to: it was sent nothing, and is mostly back soon, after a deploy."""

from __future__ import annotations

from datetime import datetime, timedelta

from jobsplatform.kernel import config
from tasks import finish
from tasks.bus.proxy import BusProxyHandler
from tasks.json_values import clean_text
from tasks.models import Job, JobAttempt
from tasks.outcomes import Ending
from tasks.states import Cause

ERROR_TYPE = "Unreachable"
REASON = "its sidecar cannot be reached"

SHORTEST_SECONDS = 1.0
"""Between two calls, whatever backoff the type declares: no attempt is used, so nothing else would end them."""


def ending(job: Job, handler: BusProxyHandler, error: str, now: datetime) -> Ending:
    """Called again by the type's backoff, free of charge; once nobody has been there for ``BUS__DEFERRED_SECONDS``, it
    is a failure like others."""
    text = clean_text(error, 1000)
    runs = JobAttempt.objects.filter(job_id=job.id)
    reached = runs.exclude(error_type=ERROR_TYPE).order_by("-lease").values_list("lease", flat=True).first()
    before = list(
        runs.filter(lease__gt=reached or 0, lease__lt=job.lease)
        .order_by("lease")
        .values_list("started_at", flat=True)
    )
    if before and before[0] + timedelta(seconds=config.get().bus.deferred_seconds) <= now:
        return Ending("failed", cause=Cause.HANDLER, error_type=ERROR_TYPE, error=text)
    wait = finish.rules_of(handler.spec).backoff.delay(len(before) + 1, str(job.id))
    return Ending(
        "snoozed", after=max(wait, SHORTEST_SECONDS), reason=REASON, error_type=ERROR_TYPE, error=text
    )
