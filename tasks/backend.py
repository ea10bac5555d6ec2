"""The platform as a backend of Django's task framework: ``{"BACKEND": "tasks.backend.JobsBackend"}`` in ``TASKS``.

A task is enqueued as a job whose job type is the task's module path, in the caller's transaction. It can be imported
while apps are still being loaded: modules that declare tasks are.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime
from importlib import import_module
from typing import Any

from django.core import checks

from jobsplatform.kernel import config
from jobsplatform.kernel.errors import ConfigError
from tasks.django_tasks.handler import RESULTS, TaskHandler, handler_of, listen
from tasks.django_tasks.names import BaseTaskBackend, InvalidTask, Task, TaskResult
from tasks.django_tasks.options import check as check_options
from tasks.django_tasks.options import check_job_options, task_options
from tasks.spec import MAX_NAME, queue_of

__all__ = ["JobsBackend", "JobsTask", "task_options"]


@dataclass(frozen=True, slots=True, kw_only=True)
class JobsTask(Task):
    """A task of this backend. ``options``: what ``using`` said of the jobs it enqueues."""

    options: Mapping[str, Any] = field(default_factory=dict, hash=False, compare=False)

    def __post_init__(self) -> None:
        # Not super(): a dataclass with slots is another class than the one that is written here.
        Task.__post_init__(self)
        backend = self.get_backend()
        if isinstance(backend, JobsBackend):
            backend.handler_of(self)  # a process that has loaded the task can run it

    def using(
        self,
        *,
        priority: int | None = None,
        queue_name: str | None = None,
        run_after: datetime | None = None,
        backend: str | None = None,
        **options: Any,
    ) -> JobsTask:
        """The same task with other defaults. ``options``: ``dedupe_key``, ``idempotency_key``, ``concurrency_key``,
        ``max_attempts``, ``latest_start_at``, ``user_id`` and ``tenant_id``, as in ``JobRequest``. Raises InvalidTask.
        """
        try:
            check_job_options(options)
        except ConfigError as error:
            raise InvalidTask(error.message) from None
        given = {"priority": priority, "queue_name": queue_name, "run_after": run_after, "backend": backend}
        changes = {name: value for name, value in given.items() if value is not None}
        return replace(self, **changes, options={**self.options, **options})


class JobsBackend(BaseTaskBackend):
    """Enqueues tasks as jobs. ``OPTIONS`` are those of ``@job`` for all of its tasks (``max_attempts`` is 1 unless they
    say more), and ``"tasks"``: a dict from the path of a task to options of its own."""

    task_class = JobsTask
    supports_defer = True
    supports_async_task = True
    supports_get_result = True
    supports_priority = True

    def __init__(self, alias: str, params: dict[str, Any]) -> None:
        super().__init__(alias, params)
        self.alias = alias
        listen()

    def validate_task(self, task: Task) -> None:
        """Raises InvalidTask for what cannot be enqueued here."""
        if not isinstance(task.priority, int) or isinstance(task.priority, bool):
            raise InvalidTask(f"priority must be a whole number between -100 and 100, got {task.priority!r}.")
        super().validate_task(task)
        if len(task.module_path) > MAX_NAME:
            raise InvalidTask(f"The path of a task has at most {MAX_NAME} characters: {task.module_path}.")
        try:
            queue_of(task.queue_name)
        except ConfigError as error:
            raise InvalidTask(error.message) from None

    def handler_of(self, task: Task) -> TaskHandler:
        """The job type of a task, made known when it is not yet. Raises InvalidTask."""
        return handler_of(task, self.alias, self.options)

    @staticmethod
    def is_task(found: object) -> bool:
        """Whether this is a task, of any backend."""
        return isinstance(found, Task)

    def enqueue(self, task: Task, args: Sequence[Any], kwargs: Mapping[str, Any]) -> TaskResult:
        """Make a job of a task. It is there when the caller's transaction commits; a rollback leaves none.

        Raises InvalidTask, TypeError and ValueError for arguments that JSON cannot say, and what
        ``tasks.submit.submit`` raises. ``task_enqueued`` is sent at once, within the transaction.
        """
        self.validate_task(task)
        handler = self.handler_of(task)
        result: TaskResult = import_module(RESULTS).enqueue(self, handler, task, args, kwargs)
        return result

    def get_result(self, result_id: str) -> TaskResult:
        """The result as its job stands now. Raises TaskResultDoesNotExist, also for a job that this backend has not
        made."""
        result: TaskResult = import_module(RESULTS).get(result_id, self.alias)
        return result

    def check(self, **_: Any) -> Iterable[checks.CheckMessage]:
        """What is wrong with the settings of this backend."""
        try:
            check_options(self.options)
        except ConfigError as error:
            yield checks.Error(
                f"TASKS[{self.alias!r}]: {error.message}",
                hint="Options are those of @job; docs/django-tasks.md lists them.",
                id="jobsplatform.tasks.E010",
            )
        served = config.get().tasks.queues
        for queue in sorted(self.queues - set(served)):
            yield checks.Warning(
                f"TASKS[{self.alias!r}]: its queue {queue!r} is not in TASKS__QUEUES ({', '.join(served)}).",
                hint=f"Its tasks wait until a worker serves that queue: add it, or start one with -Q {queue}.",
                id="jobsplatform.tasks.W010",
            )
