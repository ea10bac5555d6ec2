"""A task as a job type: its module path is the job type, its arguments are the params ``args`` and ``kwargs``.

Tasks are declared while apps are loaded, so nothing here may need the models: what does is in ``results``.
"""

from __future__ import annotations

import inspect
from collections.abc import Mapping
from dataclasses import replace
from importlib import import_module
from typing import Any

from jobsplatform.kernel import events
from jobsplatform.kernel.errors import ConfigError, DuplicateHandler
from tasks import registry
from tasks.context import JobContext
from tasks.django_tasks.names import InvalidTask, Task
from tasks.django_tasks.options import spec_of
from tasks.django_tasks.priorities import to_job
from tasks.error_text import TYPE_LENGTH
from tasks.events import JobMoved
from tasks.json_values import clean_text
from tasks.outcomes import Ending
from tasks.params import Param, Schema, Typed
from tasks.states import FINAL, Cause

RESULTS = "tasks.django_tasks.results"


class TaskHandler:
    """The job type of one task, as its backend ``alias`` has it."""

    has_continuation = False

    def __init__(self, task: Task, alias: str, options: Mapping[str, Any]) -> None:
        """Raises ConfigError for options that make no sense."""
        self.task = task
        self.alias = alias
        code = inspect.unwrap(task.func).__code__
        self.place = f"{code.co_filename}:{code.co_firstlineno}"
        own = {"queue": task.queue_name, "priority": to_job(task.priority)}
        self.spec = spec_of(task.module_path, task.func, options, **own)
        if not self.spec.description and task.func.__doc__:
            first = inspect.cleandoc(task.func.__doc__).splitlines()[0]
            self.spec = replace(self.spec, description=first)
        self.schema = Schema(
            [
                Param("args", Typed("args", list[Any]), []),
                Param("kwargs", Typed("kwargs", dict[str, Any]), {}),
                Param("backend", Typed("backend", str), alias),
            ],
            open_ended=False,
        )

    def __repr__(self) -> str:
        return f"<task {self.spec.job_type} at {self.place}>"

    def run(self, context: JobContext) -> Any:
        """Call the task's function with the job's arguments."""
        return import_module(RESULTS).run(self, context)

    def run_continuation(self, context: JobContext) -> Any:
        raise ConfigError(f"{self!r} has no continuation.")

    def ending_of(self, error: BaseException, ending: Ending) -> Ending:
        """What a task raised is known by the path of its class."""
        if ending.cause is not Cause.NONE and ending.error_type:
            kind = type(error)
            path = clean_text(f"{kind.__module__}.{kind.__qualname__}", TYPE_LENGTH)
            return replace(ending, error_type=path)
        return ending


def handler_of(task: Task, alias: str, options: Mapping[str, Any]) -> TaskHandler:
    """The job type of a task, made known when it is not yet.

    Raises InvalidTask when its path is the name of another job type or its options make no sense.
    """
    known = registry.find_declared(f":{task.module_path}")
    if isinstance(known, TaskHandler) and known.task.func is task.func:
        return known
    try:
        handler = TaskHandler(task, alias, options)
        if isinstance(known, TaskHandler):  # its module was loaded anew
            registry.replace(handler)
        else:
            registry.register(handler)
    except (ConfigError, DuplicateHandler) as error:
        raise InvalidTask(error.message) from None
    return handler


def listen() -> None:
    """Tell of the ends of tasks by ``task_finished``."""
    events.subscribe(JobMoved, _ended)


def _ended(event: JobMoved) -> None:
    if event.state in FINAL:
        handler = registry.find_declared(event.handler_key)
        if isinstance(handler, TaskHandler):
            import_module(RESULTS).tell_end(event.job_id)
