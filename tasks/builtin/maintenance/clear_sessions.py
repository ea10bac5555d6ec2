"""``maintenance.clear_sessions``: remove expired login sessions."""

from __future__ import annotations

import io

from django.apps import apps
from django.core.management import CommandError, call_command

from jobsplatform.kernel import clock
from tasks.context import JobContext
from tasks.handlers import job
from tasks.outcomes import Outcome

BATCH = 1_000


@job(
    "maintenance.clear_sessions",
    description="Remove expired login sessions.",
    exclusive=True,
    on_interrupt="cancel",
)
def clear_sessions(context: JobContext) -> Outcome:
    """Remove expired rows in small batches, then let the session engine clear what it keeps elsewhere.

    An engine that clears itself (a cache, signed cookies) is no fault.
    """
    removed = _from_table(context) if apps.is_installed("django.contrib.sessions") else 0
    try:
        call_command("clearsessions", stdout=io.StringIO(), stderr=io.StringIO())
        engine = "cleared"
    except CommandError as error:
        engine = str(error)
    return Outcome({"removed": removed, "engine": engine}, count=removed)


def _from_table(context: JobContext) -> int:
    sessions = apps.get_model("sessions", "Session").objects
    now = clock.now()
    removed = 0
    while True:
        context.check_cancel()
        expired = list(sessions.filter(expire_date__lt=now).values_list("pk", flat=True)[:BATCH])
        if not expired:
            return removed
        removed += sessions.filter(pk__in=expired, expire_date__lt=now).delete()[0]
        context.progress(removed, None, "sessions removed")
