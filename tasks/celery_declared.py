"""What an existing Celery task says of itself, as the declaration of a job type."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Mapping, Sequence
from importlib import import_module
from typing import Any

from celery import Task, current_app
from celery.canvas import Signature

from jobsplatform.kernel.errors import ConfigError, ParamsInvalid, did_you_mean
from tasks.json_values import check_json
from tasks.params import Param, Schema, Typed
from tasks.signatures import MISSING
from tasks.states import Priority

POSITIONAL = "args"
"""The param that holds what a task takes by position alone."""

OWN = ("core.tasks.run", "core.scheduler.trigger")
LONGEST_RETRIES = 999
_PRIORITY_STEP = 20
_MOST_URGENT = 9


def task_of(given: object) -> Task:
    """The task that is meant: itself, or by its name. Raises ConfigError, for chains, groups and chords too."""
    if isinstance(given, Signature):
        kind = type(given).__name__.strip("_").lower()
        raise ConfigError(
            f"celery_task: a {kind} cannot run as one job. Declare each of its tasks, and let a job spawn the others "
            "as its children."
            if kind != "signature"
            else f"celery_task: give the task, not a signature: celery_task({given.task!r})."
        )
    if isinstance(given, Task):
        return by_name(given.name)  # the object itself, where a shared task gives a stand-in
    if not isinstance(given, str):
        raise ConfigError(f"celery_task: expected a Celery task or its name, got {given!r:.80}.")
    return by_name(given)


def by_name(name: str) -> Task:
    """The task of the current Celery app with this name. Raises ConfigError with the nearest known one."""
    if name in OWN or name.startswith("celery."):
        raise ConfigError(
            f"celery_task: {name!r} is no work of its own: chains, groups, chords and the platform's tasks cannot run "
            "as jobs."
        )
    tasks = current_app.tasks
    if name not in tasks:
        _import_module_of(name)
    if name not in tasks:
        current_app.loader.import_default_modules()
    if name not in tasks:
        known = [other for other in tasks if not other.startswith("celery.") and other not in OWN]
        raise ConfigError(f"celery_task: there is no Celery task {name!r}.{did_you_mean(name, known)}")
    return tasks[name]


def _import_module_of(name: str) -> None:
    """Most tasks have the name of their module before their own."""
    module = name.rpartition(".")[0]
    try:
        import_module(module)
    except ModuleNotFoundError as error:
        if error.name is None or not f"{module}.".startswith(f"{error.name}."):
            raise
    except ValueError:
        return  # a name without a module


def options_of(task: Task) -> dict[str, Any]:
    """Options of ``@job`` that the task's own say."""
    conf = task.app.conf
    hard = task.time_limit or conf.task_time_limit
    soft = task.soft_time_limit or conf.task_soft_time_limit
    doc, route = inspect.getdoc(task.run), _route(task)
    priorities = (task.priority, route.get("priority"), conf.task_default_priority)
    options = {
        "max_attempts": _retries(task) + 1,
        "timeout": hard,
        "soft_timeout": soft if soft and (not hard or soft < hard) else None,
        "priority": _priority(next((each for each in priorities if each is not None), None), conf),
        "queue": _queue(task, route),
        "description": doc.splitlines()[0] if doc else "",
    }
    return {name: value for name, value in options.items() if value is not None}


def _retries(task: Task) -> int:
    """How often it may ask to be run again; a task that retries by itself may name its own number."""
    of_task = getattr(task, "retry_kwargs", {}).get("max_retries", task.max_retries)
    return LONGEST_RETRIES if of_task is None else max(0, min(of_task, LONGEST_RETRIES))


def _priority(given: int | None, conf: Any) -> int | None:
    """0 to 9 as steps below USER_ACTION, 5 is NORMAL. On RabbitMQ 9 is the most urgent, on others 0."""
    if given is None:
        return None
    level = min(max(given, 0), _MOST_URGENT)
    amqp = str(conf.broker_url or "amqp://").startswith(("amqp", "pyamqp", "qpid"))
    urgency = level if amqp else _MOST_URGENT - level
    return int(Priority.BACKGROUND) + urgency * _PRIORITY_STEP


def _route(task: Task) -> Mapping[str, Any]:
    """What the routes of its app say of it."""
    app = task.app
    return app.amqp.router.route({}, task.name) if app.conf.task_routes else {}


def _queue(task: Task, route: Mapping[str, Any]) -> str | None:
    """The queue that the task or a route names; none for that of all tasks, which is not one of ours."""
    if own := getattr(task, "queue", None):
        return str(own)
    routed = route.get("queue")
    name = str(getattr(routed, "name", routed or ""))
    return name if name and name != task.app.conf.task_default_queue else None


def place_of(task: Task) -> str:
    """Where the task's code is."""
    function = inspect.unwrap(task.run)
    code = getattr(getattr(function, "__func__", function), "__code__", None)
    return f"{code.co_filename}:{code.co_firstlineno}" if code else task.name


class CallSchema(Schema):
    """The params of a task: its arguments by name, whatever JSON says; annotations of Celery tasks bind nobody.

    ``optional``: arguments whose default JSON cannot say; it is left to the function.
    """

    def __init__(self, function: Callable[..., Any]) -> None:
        params, optional, before, kinds = [], set(), [], set()
        for name, parameter in inspect.signature(function).parameters.items():
            kinds.add(parameter.kind)
            if parameter.kind is parameter.POSITIONAL_OR_KEYWORD:
                before.append(name)
            if parameter.kind not in (parameter.POSITIONAL_OR_KEYWORD, parameter.KEYWORD_ONLY):
                continue
            default = MISSING if parameter.default is parameter.empty else parameter.default
            try:
                kept = default if default is MISSING else check_json(default, what=name)
                params.append(Param(name, Typed(name, Any), kept))
            except ParamsInvalid:
                optional.add(name)
        self.optional = frozenset(optional)
        self.before = tuple(before)
        kind = inspect.Parameter
        self.positional = bool(kinds & {kind.POSITIONAL_ONLY, kind.VAR_POSITIONAL}) and POSITIONAL not in {
            param.name for param in params
        }
        if self.positional:
            params.append(Param(POSITIONAL, Typed(POSITIONAL, list[Any]), []))
        super().__init__(params, open_ended=kind.VAR_KEYWORD in kinds)

    @property
    def names(self) -> frozenset[str]:
        return super().names | self.optional

    def normalise(self, params: Mapping[str, Any]) -> dict[str, Any]:
        given = self._named(params)
        rest = {name: value for name, value in given.items() if name not in self.optional}
        extra = {name: value for name, value in given.items() if name in self.optional}
        stored = super().normalise(rest)
        return stored | {name: check_json(value, what=f"param {name!r}") for name, value in extra.items()}

    def load(self, params: Mapping[str, Any]) -> dict[str, Any]:
        extra = {name: value for name, value in params.items() if name in self.optional}
        return super().load({name: params[name] for name in params if name not in extra}) | extra

    def json_schema(self) -> dict[str, Any]:
        schema = super().json_schema()
        schema["properties"] |= {name: {} for name in sorted(self.optional)}
        return schema

    def by_position(self, values: Sequence[Any]) -> dict[str, Any]:
        if not self.positional:
            return super().by_position(values)
        named = dict(zip(self.before, values, strict=False))
        rest = list(values[len(named) :])
        return {**named, POSITIONAL: rest} if rest else named

    def arguments(self, params: Mapping[str, Any]) -> tuple[list[Any], dict[str, Any]]:
        """What to call the task with. Raises ParamsInvalid for what a newer task does not take any more."""
        kwargs = self.load(params)
        args = kwargs.pop(POSITIONAL, []) if self.positional else []
        if args:  # those that stand before them go by position too
            args = [*(kwargs.pop(name) for name in self.before if name in kwargs), *args]
        return args, kwargs
