"""Tasks in a module that no worker imports by itself."""

from __future__ import annotations

import time
from typing import Any

try:
    from django.tasks import task
except ImportError:
    from django_tasks import task

from jobsplatform import task_options


@task
def send(number: int) -> str:
    return f"letter {number}"


@task(takes_context=True)
@task_options(timeout=1, max_attempts=1)
def write(context: Any) -> None:
    context.job.progress(1, 2, "half a page")
    time.sleep(60)
