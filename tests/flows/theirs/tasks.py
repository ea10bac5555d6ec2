"""Celery tasks that know nothing of jobs."""

from __future__ import annotations

import time
from typing import Any

from celery import Task, shared_task


@shared_task(bind=True, max_retries=4)
def stubborn(self: Task[Any, Any], times: int) -> list[Any]:
    if self.request.retries < times:
        raise self.retry(countdown=0.05, exc=ConnectionError(f"try {self.request.retries}"))
    return [self.request.retries, self.request.id]


@shared_task(time_limit=1)
def endless() -> None:
    time.sleep(60)
