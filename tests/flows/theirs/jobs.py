"""Two lines, and they are job types."""

from __future__ import annotations

from jobsplatform import celery_task

stubborn = celery_task("tests.flows.theirs.tasks.stubborn")
endless = celery_task("tests.flows.theirs.tasks.endless", max_attempts=1)
