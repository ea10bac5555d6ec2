"""System checks about declared handlers: what fits the declaration alone, and not this installation.

What contradicts itself is refused when it is declared (``tasks.declare``); here each handler is held against
the settings and the other handlers. Errors stop ``manage.py``; warnings are told.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from importlib import import_module
from string import Formatter
from typing import Any

import django
from django.apps import apps
from django.core import checks

from jobsplatform.kernel import config
from jobsplatform.kernel.config import Config
from jobsplatform.kernel.errors import ConfigError, did_you_mean
from tasks import registry
from tasks.spec import JobHandler
from tasks.states import Priority

Check = Callable[[JobHandler, Config], Iterator[checks.CheckMessage]]


def handler_checks(app_configs: Any = None, **_: Any) -> list[checks.CheckMessage]:
    """Every fault of every declared handler, in the order of their keys."""
    settings = config.get()
    return [
        message for handler in registry.declared() for check in CHECKS for message in check(handler, settings)
    ]


def _limits(handler: JobHandler, settings: Config) -> Iterator[checks.CheckMessage]:
    spec = handler.spec
    if spec.timeout is not None and spec.soft_timeout is not None and spec.soft_timeout >= spec.timeout:
        yield _error(
            "E001",
            handler,
            f"soft_timeout ({spec.soft_timeout:g} s) is not below timeout ({spec.timeout:g} s)",
            "Lower soft_timeout, else the handler never sees it.",
        )
    if spec.exclusive and spec.max_concurrency not in (None, 1):
        yield _error(
            "E002",
            handler,
            f"it is exclusive and allows max_concurrency={spec.max_concurrency}",
            "Leave one of the two out.",
        )
    if spec.exclusive and spec.concurrency_key is not None:
        yield _warning(
            "W001",
            handler,
            "it is exclusive, so its concurrency_key never decides",
            "Leave concurrency_key out, or say concurrency_key alone for one job a key.",
        )


def _keys(handler: JobHandler, settings: Config) -> Iterator[checks.CheckMessage]:
    for name in ("dedupe_key", "concurrency_key"):
        rule = getattr(handler.spec, name)
        if not isinstance(rule, str) or handler.schema.open_ended:
            continue
        for param in _named(rule):
            if param not in handler.schema.names:
                yield _error(
                    "E003",
                    handler,
                    f"its {name} {rule!r} names the param {param!r}, which it does not have",
                    "Name one of its params." + did_you_mean(param, handler.schema.names),
                )


def _queue(handler: JobHandler, settings: Config) -> Iterator[checks.CheckMessage]:
    queue, served = handler.spec.queue, settings.tasks.queues
    if queue not in served:
        yield _warning(
            "W002",
            handler,
            f"its queue {queue!r} is not in TASKS__QUEUES ({', '.join(served)})",
            "Its jobs wait until a worker is told to serve that queue: add it to TASKS__QUEUES, or start one "
            f"with -Q {queue}.",
        )


def _interruptions(handler: JobHandler, settings: Config) -> Iterator[checks.CheckMessage]:
    spec = handler.spec
    if spec.preemptible and spec.priority >= Priority.USER_ACTION:
        yield _warning(
            "W003",
            handler,
            f"it is preemptible and urgent itself (priority {spec.priority})",
            "Give it a priority below USER_ACTION (1000), or leave preemptible out.",
        )
    grace = settings.tasks.shutdown_grace_seconds
    if spec.cancel_grace is not None and spec.cancel_grace > grace:
        yield _warning(
            "W004",
            handler,
            f"its cancel_grace ({spec.cancel_grace:g} s) is longer than a worker waits at its own end "
            f"({grace:g} s)",
            "Shorten it, or raise TASKS__SHUTDOWN_GRACE_SECONDS.",
        )


def _schema(handler: JobHandler, settings: Config) -> Iterator[checks.CheckMessage]:
    try:
        handler.schema.json_schema()
    except Exception as error:
        problem = error.message if isinstance(error, ConfigError) else f"{type(error).__name__}: {error}"
        yield _error(
            "E004",
            handler,
            f"its params cannot be described as JSON Schema ({problem.splitlines()[0][:200]})",
            "Annotate them with types that JSON can say.",
        )


CHECKS: tuple[Check, ...] = (_limits, _keys, _queue, _interruptions, _schema)


def _named(template: str) -> list[str]:
    return [name for _, name, _, _ in Formatter().parse(template) if name]


def _error(number: str, handler: JobHandler, problem: str, hint: str) -> checks.CheckMessage:
    return checks.Error(_text(handler, problem), hint=hint, id=f"jobsplatform.tasks.{number}")


def _warning(number: str, handler: JobHandler, problem: str, hint: str) -> checks.CheckMessage:
    return checks.Warning(_text(handler, problem), hint=hint, id=f"jobsplatform.tasks.{number}")


def _text(handler: JobHandler, problem: str) -> str:
    return f"The job type {registry.shown(handler.spec.key)} ({handler.place}): {problem}."


def backend_checks(app_configs: Any = None, **_: Any) -> list[checks.CheckMessage]:
    """Those of the task backends in TASKS, where their framework does not see to it: before Django 6.0 it does only as
    an installed app."""
    if django.VERSION >= (6, 0) or "django_tasks" not in sys.modules or apps.is_installed("django_tasks"):
        return []
    backends = import_module("tasks.django_tasks.names").task_backends
    return [message for backend in backends.all() for message in backend.check()]


checks.register(handler_checks)
checks.register(backend_checks)
