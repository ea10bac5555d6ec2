"""What can be said of a task beyond what its framework knows: the options of a job type, and those of one job."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, TypeVar

from jobsplatform.kernel.errors import ConfigError, did_you_mean
from tasks.declare import declared
from tasks.spec import JobSpec

F = TypeVar("F", bound=Callable[..., Any])

ATTRIBUTE = "job_options"
PER_TASK = "tasks"
FROM_THE_TASK = frozenset({"job_type", "app_id", "queue", "priority", "packable", "own_queue"})
"""What the task says itself, or cannot be said of one."""

PER_JOB = (
    "concurrency_key",
    "dedupe_key",
    "idempotency_key",
    "latest_start_at",
    "max_attempts",
    "tenant_id",
    "user_id",
)
"""What ``task.using(…)`` may say of the jobs that it enqueues, besides what every task may."""

DEFAULTS: Mapping[str, Any] = {"max_attempts": 1}
"""A task that knows nothing of us is not written to be run again after it has failed."""


def task_options(**options: Any) -> Callable[[F], F]:
    """Decorator below ``@task``: options of ``@job`` for a task, such as ``timeout`` and ``max_attempts``.

    They come before those of the backend's OPTIONS. A wrong one is refused when the task is declared.
    """

    def decorate(function: F) -> F:
        setattr(function, ATTRIBUTE, options)
        return function

    return decorate


def spec_of(path: str, function: Callable[..., Any], backend: Mapping[str, Any], **own: Any) -> JobSpec:
    """The job type of a task. ``own``: its queue and priority. Raises ConfigError for options that make no sense."""
    per_task = backend.get(PER_TASK, {}).get(path, {})
    general = {name: value for name, value in backend.items() if name != PER_TASK}
    chosen = {**DEFAULTS, **general, **per_task, **getattr(function, ATTRIBUTE, {})}
    check_names(chosen)
    return declared(path, {**chosen, **own, "packable": False}, f"task {path!r}")


def check(backend: Mapping[str, Any]) -> None:
    """Raises ConfigError for OPTIONS of a backend that cannot be those of any task."""
    if not isinstance(backend, Mapping):
        raise ConfigError(f"OPTIONS: expected a dict, got {backend!r:.60}.")
    per_task = backend.get(PER_TASK, {})
    if not isinstance(per_task, Mapping) or not all(isinstance(of, Mapping) for of in per_task.values()):
        raise ConfigError(f"OPTIONS: {PER_TASK!r} is a dict from the path of a task to its options.")
    for options in (
        {name: value for name, value in backend.items() if name != PER_TASK},
        *per_task.values(),
    ):
        check_names(options)
        declared("task", dict(options), "OPTIONS")


def check_names(options: Mapping[str, Any]) -> None:
    """Raises ConfigError for an option that the task itself has."""
    for name in options:
        if name in FROM_THE_TASK:
            raise ConfigError(f"{name!r} is no option of a task: its own queue, priority and name count.")


def check_job_options(options: Mapping[str, Any]) -> None:
    """Raises ConfigError for what ``using`` does not know."""
    for name in options:
        if name not in PER_JOB:
            raise ConfigError(f"using() has no option {name!r}.{did_you_mean(name, PER_JOB)}")
