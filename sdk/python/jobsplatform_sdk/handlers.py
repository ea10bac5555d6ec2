"""A function that runs jobs of one type."""

from __future__ import annotations

import asyncio
import inspect
from collections.abc import Callable, Mapping, Sequence
from typing import Any, Generic, ParamSpec, TypedDict, TypeVar

from jobsplatform_sdk.context import JobContext
from jobsplatform_sdk.outcomes import Fail
from jobsplatform_sdk.schemas import schema_of

P = ParamSpec("P")
R = TypeVar("R")

CONTEXT_NAMES = frozenset({"ctx", "context"})


class JobOptions(TypedDict, total=False):
    """What is declared of a job type; what is left out follows the platform's settings. Lengths are seconds."""

    queue: str
    priority: int | str
    max_attempts: int
    backoff: float | Sequence[float]
    timeout: float
    soft_timeout: float
    cancel_grace: float
    exclusive: bool
    max_concurrency: int
    concurrency_key: str
    concurrency_limit: int
    dedupe_key: str
    dedupe: str
    preemptible: bool
    on_interrupt: str
    retention: float
    public_params: Sequence[str]
    description: str
    confirm: str
    crash_budget: int
    params_schema: Mapping[str, Any]


class Handler(Generic[P, R]):
    """A job type of this sidecar; calling it runs the function, without a job."""

    def __init__(self, job_type: str, function: Callable[P, R], options: JobOptions) -> None:
        """Raises TypeError for a function whose params cannot be given by name, or that yields."""
        if inspect.isgeneratorfunction(function) or inspect.isasyncgenfunction(function):
            raise TypeError(f"{function.__qualname__} yields; a handler returns its result.")
        self.job_type = job_type
        self.function = function
        self.takes_context, self.params, self.open_ended = _signature(function)
        self._continuation: Callable[..., Any] | None = None
        described: JobOptions = {}
        if function.__doc__ and "description" not in options:
            described["description"] = inspect.cleandoc(function.__doc__).splitlines()[0][:500]
        if "params_schema" not in options:
            described["params_schema"] = schema_of(self.params, function, self.open_ended)
        self.options: JobOptions = {**options, **described}
        self.__name__ = function.__name__
        self.__doc__ = function.__doc__
        self.__wrapped__ = function

    def __call__(self, *args: P.args, **kwargs: P.kwargs) -> R:
        return self.function(*args, **kwargs)

    def __repr__(self) -> str:
        return f"<job type {self.job_type} of {self.function.__module__}.{self.function.__qualname__}>"

    @property
    def has_continuation(self) -> bool:
        """Is there something to run once all children have ended?"""
        return self._continuation is not None

    def continuation(self, function: Callable[..., Any]) -> Callable[..., Any]:
        """Decorator: run ``function`` once all children have ended; its answer ends the job.

        It takes the context (``context.children``) and those of the handler's params that it names. Raises TypeError
        for others, and for a second continuation.
        """
        if self._continuation is not None:
            raise TypeError(f"{self!r} has a continuation already: {self._continuation.__qualname__}.")
        strange = sorted(set(_signature(function)[1]) - set(self.params))
        if strange:
            raise TypeError(f"{function.__qualname__}: {strange[0]!r} is no param of {self!r}.")
        self._continuation = function
        return function

    def run(self, context: JobContext, *, continuing: bool) -> Any:
        """Call the function (the continuation when ``continuing``) with the job's params; its answer."""
        if not continuing:
            return _call(self.function, context, self._given(context.params))
        if self._continuation is None:
            return None  # the children have done the work
        wanted = _signature(self._continuation)
        params = {name: value for name, value in context.params.items() if wanted[2] or name in wanted[1]}
        return _call(self._continuation, context, params)

    def _given(self, params: Mapping[str, Any]) -> Mapping[str, Any]:
        """Refuses once and for all what can never run; the platform has checked most of it at submit."""
        strange = sorted(set(params) - set(self.params))
        missing = sorted(
            name for name, param in self.params.items() if param.default is param.empty and name not in params
        )
        if (strange and not self.open_ended) or missing:
            what = f"unknown: {strange[0]}" if strange and not self.open_ended else f"missing: {missing[0]}"
            raise Fail(f"The params do not fit {self!r} ({what}).", retryable=False)
        return params


def _signature(function: Callable[..., Any]) -> tuple[bool, dict[str, inspect.Parameter], bool]:
    """Does it take the context, which params, and any others too?"""
    declared = list(inspect.signature(function).parameters.values())
    takes_context = bool(declared) and _is_context(declared[0])
    params: dict[str, inspect.Parameter] = {}
    open_ended = False
    for param in declared[1:] if takes_context else declared:
        if param.kind is param.VAR_KEYWORD:
            open_ended = True
        elif param.kind in (param.POSITIONAL_ONLY, param.VAR_POSITIONAL):
            raise TypeError(
                f"{function.__qualname__}: params are given by name, so {str(param)!r} can get none. "
                "Make it an ordinary parameter."
            )
        else:
            params[param.name] = param
    return takes_context, params, open_ended


def _is_context(param: inspect.Parameter) -> bool:
    annotation = param.annotation
    name = annotation if isinstance(annotation, str) else getattr(annotation, "__name__", "")
    return param.name in CONTEXT_NAMES or name.strip("'\"").rpartition(".")[2] == JobContext.__name__


def _call(function: Callable[..., Any], context: JobContext, params: Mapping[str, Any]) -> Any:
    args = (context,) if _signature(function)[0] else ()
    if inspect.iscoroutinefunction(function):
        return asyncio.run(function(*args, **params))
    return function(*args, **params)
