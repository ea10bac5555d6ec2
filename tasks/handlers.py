"""Declare a job type with a function: ``@job("report.build") def build(ctx, month: date) -> dict: …``.

The function stays callable (inline, no row). ``build.enqueue(month=…)`` makes a job of it.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from datetime import timedelta
from typing import Any, Generic, ParamSpec, TypeVar

from pydantic import BaseModel

from jobsplatform.kernel.errors import ConfigError
from tasks import registry
from tasks.async_run import run_async
from tasks.context import JobContext
from tasks.declare import spec_of
from tasks.enqueuing import Enqueues
from tasks.params import Schema
from tasks.retry import DelayRule
from tasks.signatures import Signature, read_signature
from tasks.spec import JobSpec, KeyRule
from tasks.states import Dedupe, Priority

P = ParamSpec("P")
R = TypeVar("R")


class FunctionHandler(Enqueues, Generic[P, R]):
    """A job type whose code is a function of this process; calling it runs it inline, without a job."""

    def __init__(self, function: Callable[P, R], spec: JobSpec, model: type[BaseModel] | None = None) -> None:
        """Raises ConfigError for a function that cannot be a handler."""
        _refuse_yield(function)
        self.function = function
        self.spec = spec
        self.signature = read_signature(function)
        self.schema = _schema_of(function, self.signature, model)
        self.place = _place_of(function)
        self._continuation: tuple[Callable[..., Any], Signature] | None = None
        # What tools show of a function; not functools.wraps, which would copy its attributes over ours.
        self.__name__ = function.__name__
        self.__qualname__ = function.__qualname__
        self.__module__ = function.__module__
        self.__doc__ = function.__doc__
        self.__wrapped__ = function

    def __call__(self, *args: P.args, **kwargs: P.kwargs) -> R:
        return self.function(*args, **kwargs)

    def __repr__(self) -> str:
        return f"<job type {registry.shown(self.spec.key)} at {self.place}>"

    def run(self, context: JobContext) -> Any:
        """Call the function with the job's typed params; async ones are awaited to their end."""
        return _call(self.function, self.signature, context, self.schema.load(context.params))

    @property
    def has_continuation(self) -> bool:
        return self._continuation is not None

    def continuation(self, function: Callable[..., Any]) -> Callable[..., Any]:
        """Decorator: run ``function`` once all children have ended; its answer ends the job.

        It takes the context (``context.children``) and those of the handler's params that it names. Raises
        ConfigError for others, and for a second continuation.
        """
        _refuse_yield(function)
        signature = read_signature(function)
        if self._continuation is not None:
            raise ConfigError(f"{self!r} has a continuation already: {self._continuation[0].__qualname__}.")
        strange = sorted(set(signature.params) - set(self.signature.params))
        if strange:
            raise ConfigError(f"{function.__qualname__}: {strange[0]!r} is no param of {self!r}.")
        self._continuation = (function, signature)
        return function

    def run_continuation(self, context: JobContext) -> Any:
        """Call the continuation."""
        if self._continuation is None:
            raise ConfigError(f"{self!r} has no continuation.")
        function, signature = self._continuation
        params = self.schema.load(context.params)
        if not signature.open_ended:
            params = {name: value for name, value in params.items() if name in signature.params}
        return _call(function, signature, context, params)


def job(
    job_type: str,
    *,
    app_id: str = "",
    queue: str = "default",
    priority: int = Priority.NORMAL,
    max_attempts: int | None = None,
    backoff: DelayRule | float | Sequence[float] | None = None,
    timeout: float | timedelta | None = None,
    soft_timeout: float | timedelta | None = None,
    cancel_grace: float | timedelta | None = None,
    exclusive: bool = False,
    max_concurrency: int | None = None,
    concurrency_key: KeyRule | None = None,
    concurrency_limit: int = 1,
    dedupe_key: KeyRule | None = None,
    dedupe: Dedupe | str = Dedupe.ALIAS,
    preemptible: bool = False,
    on_interrupt: str = "resume",
    retention: float | timedelta | None = None,
    public_params: Sequence[str] = (),
    description: str = "",
    confirm: str = "",
    crash_budget: int | None = None,
    params: type[BaseModel] | None = None,
) -> Callable[[Callable[P, R]], FunctionHandler[P, R]]:
    """Declare a job type and make it known. What is left out follows the platform's settings.

    ``timeout`` kills a run, ``soft_timeout`` raises in it; both count from its start, in seconds.
    ``max_attempts`` counts all runs, the first included. Keys are templates of params (``"user:{user_id}"``)
    or functions of them. ``params`` is a pydantic model that stands for all params; the function takes it as
    its one argument. Raises ConfigError for a declaration that contradicts itself, DuplicateHandler for a
    key that is taken.
    """
    declared = {name: value for name, value in locals().items() if name not in {"job_type", "params"}}

    def decorate(function: Callable[P, R]) -> FunctionHandler[P, R]:
        spec, keys = spec_of(job_type, declared)
        handler = FunctionHandler(function, spec, params)
        keys(handler.schema)
        if not spec.description and function.__doc__:
            handler.spec = replace(spec, description=inspect.cleandoc(function.__doc__).splitlines()[0])
        registry.register(handler)
        return handler

    return decorate


def _call(
    function: Callable[..., Any], signature: Signature, context: JobContext, params: Mapping[str, Any]
) -> Any:
    args = (context,) if signature.takes_context else ()
    if inspect.iscoroutinefunction(function):
        return run_async(function, *args, **params)
    return function(*args, **params)


def _schema_of(function: Callable[..., Any], signature: Signature, model: type[BaseModel] | None) -> Schema:
    if model is None:
        return Schema.of(function)
    if len(signature.params) != 1:
        raise ConfigError(
            f"{function.__qualname__}: with params={model.__name__} it takes that model as its one argument, "
            f"got {len(signature.params)}."
        )
    return Schema.of_model(model, next(iter(signature.params)))


def _refuse_yield(function: Callable[..., Any]) -> None:
    if inspect.isgeneratorfunction(function) or inspect.isasyncgenfunction(function):
        raise ConfigError(f"{function.__qualname__} yields; a handler returns its result.")


def _place_of(function: Callable[..., Any]) -> str:
    code = inspect.unwrap(function).__code__
    return f"{code.co_filename}:{code.co_firstlineno}"
