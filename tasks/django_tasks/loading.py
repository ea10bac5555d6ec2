"""From the path of a task to its job type, by importing the module that declares it.

Only paths of stored jobs come here: somebody who knew the task has made them.
"""

from __future__ import annotations

import logging
from importlib import import_module
from typing import Any

from django.utils.module_loading import import_string

from jobsplatform.kernel import config
from tasks import registry
from tasks.spec import JobHandler

logger = logging.getLogger("jobsplatform.django_tasks")

BACKEND = "tasks.backend.JobsBackend"


def load(job_type: str) -> JobHandler | None:
    """The job type of the task with this path; None when this release has none."""
    backend = _backend()
    if backend is None:
        return None
    parts = job_type.split(".")
    for length in range(len(parts) - 1, 0, -1):
        name = ".".join(parts[:length])
        try:
            found: Any = import_module(name)
        except ModuleNotFoundError as error:
            if error.name is not None and f"{name}.".startswith(f"{error.name}."):
                continue  # it is no module; a shorter part may be
            logger.warning("the task %s cannot be loaded: %s", job_type, error)
            return None
        except Exception:
            logger.exception("the task %s cannot be loaded", job_type)
            return None
        known = registry.find_declared(f":{job_type}")
        if known is not None:
            return known
        for part in parts[length:]:
            found = getattr(found, part, None)
        handler: JobHandler | None = backend.handler_of(found) if backend.is_task(found) else None
        return handler
    return None


def _backend() -> Any:
    """A backend of ours that the settings name, or None."""
    settings = config.django_setting("TASKS") or {}
    ours = [alias for alias, of in settings.items() if _is_ours(of.get("BACKEND"))]
    if not ours:
        return None
    names = import_module("tasks.django_tasks.names")
    return names.task_backends["default" if "default" in ours else ours[0]]


def _is_ours(path: Any) -> bool:
    """Whether the path of a backend's class is that of ours, or of one made of it."""
    if path == BACKEND or not isinstance(path, str) or path.startswith(("django.", "django_tasks.")):
        return bool(path == BACKEND)
    try:
        return issubclass(import_string(path), import_string(BACKEND))
    except (ImportError, TypeError):
        return False  # the framework says so when it is used
