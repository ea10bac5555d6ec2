"""Background jobs for Django and Celery: every job tracked, every ending recorded once.

The public names are loaded when first asked for, so that importing this package needs no settings.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from scheduler.declare import schedule
    from scheduler.states import Fold, Gap, Misfire, Overlap
    from tasks.celery_task import celery_task
    from tasks.context import Child, ChildResult, JobContext
    from tasks.control import cancel
    from tasks.django_tasks.options import task_options
    from tasks.filters import JobFilter
    from tasks.handlers import job
    from tasks.outcomes import Deferred, Discard, Fail, Outcome, Pause, Retry, Snooze
    from tasks.queries import get_job
    from tasks.retry import Backoff
    from tasks.states import Priority
    from tasks.submit import enqueue

__version__ = "0.1.0"

__all__ = [
    "Backoff",
    "Child",
    "ChildResult",
    "Deferred",
    "Discard",
    "Fail",
    "Fold",
    "Gap",
    "JobContext",
    "JobFilter",
    "Misfire",
    "Outcome",
    "Overlap",
    "Pause",
    "Priority",
    "Retry",
    "Snooze",
    "cancel",
    "celery_task",
    "enqueue",
    "get_job",
    "job",
    "schedule",
    "task_options",
]

_HOMES = {
    "Backoff": "tasks.retry",
    "Child": "tasks.context",
    "ChildResult": "tasks.context",
    "Deferred": "tasks.outcomes",
    "Discard": "tasks.outcomes",
    "Fail": "tasks.outcomes",
    "Fold": "scheduler.states",
    "Gap": "scheduler.states",
    "JobContext": "tasks.context",
    "JobFilter": "tasks.filters",
    "Misfire": "scheduler.states",
    "Outcome": "tasks.outcomes",
    "Overlap": "scheduler.states",
    "Pause": "tasks.outcomes",
    "Priority": "tasks.states",
    "Retry": "tasks.outcomes",
    "Snooze": "tasks.outcomes",
    "cancel": "tasks.control",
    "celery_task": "tasks.celery_task",
    "enqueue": "tasks.submit",
    "get_job": "tasks.queries",
    "job": "tasks.handlers",
    "schedule": "scheduler.declare",
    "task_options": "tasks.django_tasks.options",
}


def __getattr__(name: str) -> Any:
    home = _HOMES.get(name)
    if home is None:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    value = getattr(import_module(home), name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
