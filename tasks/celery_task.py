"""An existing Celery task as a job type: ``celery_task("app.tasks.send")`` in the ``jobs.py`` of an app.

Its body runs inside ``core.tasks.run``, with a request bound to it, and needs no change. What is sent with ``delay``
goes its way through the broker as before; what is enqueued or scheduled as a job is tracked as one.
"""

from __future__ import annotations

import logging
from collections.abc import Callable
from dataclasses import replace
from datetime import datetime
from typing import Any

from billiard.einfo import ExceptionInfo
from celery import Task, current_app
from celery import exceptions as celery
from celery._state import _task_stack
from celery.app.trace import task_has_custom
from celery.utils.time import maybe_make_aware

from jobsplatform.kernel import clock
from jobsplatform.kernel.errors import ConfigError
from tasks import registry
from tasks.celery_declared import CallSchema, options_of, place_of, task_of
from tasks.celery_request import BoundRequest, States
from tasks.context import JobContext
from tasks.declare import declared
from tasks.enqueuing import Enqueues
from tasks.error_text import text_of
from tasks.outcomes import Directive, Discard, Ending, Fail, JobCancelled, LeaseLost, Retry

logger = logging.getLogger("jobsplatform.celery")


class CeleryTaskHandler(Enqueues):
    """The body of a Celery task as a handler. ``name`` is the task's; options are those of ``@job``, which come before
    what the task says of itself (time limits, priority, queue, retries)."""

    has_continuation = False

    def __init__(self, task: Task | str, job_type: str = "", **options: Any) -> None:
        """Raises ConfigError for what is no task, and for options that make no sense."""
        found = task_of(task)
        self.name = found.name
        self.place = place_of(found)
        self.schema = CallSchema(found.run)
        known = job_type or self.name
        own = {**options_of(found), **{name: value for name, value in options.items() if value is not None}}
        self.spec = declared(known, own, f"celery_task({self.name!r})")

    def __repr__(self) -> str:
        return f"<job type {registry.shown(self.spec.key)} of the Celery task {self.name}>"

    def run(self, context: JobContext) -> Any:
        """Call the body of the task, as a worker of its app would; what it raises is in our words."""
        task: Task = current_app.tasks[self.name]
        if not isinstance(vars(task).get("update_state"), States):
            task.update_state = States(task)
        args, kwargs = self.schema.arguments(context.params)
        request = BoundRequest(task, context, args, kwargs)
        task.request_stack.push(request)
        _task_stack.push(task)
        try:
            return _Call(task, request).answer()
        finally:
            _task_stack.pop()
            task.request_stack.pop()

    def run_continuation(self, context: JobContext) -> Any:
        raise ConfigError(f"{self!r} has no continuation.")

    def ending_of(self, error: BaseException, ending: Ending) -> Ending:
        """A Celery task is run again when it asks for that, not because it raised."""
        if ending.kind == "failed" and not isinstance(error, Fail):
            return replace(ending, retryable=False)
        return ending


def celery_task(task: Task | str, *, job_type: str = "", **options: Any) -> CeleryTaskHandler:
    """Make a Celery task known as a job type, which has its name unless ``job_type`` says another.

    ``options`` are those of ``@job``. Raises ConfigError for a name that is no task's, for chains, groups and chords,
    and for wrong options; DuplicateHandler for a job type that is taken.
    """
    handler = CeleryTaskHandler(task, job_type, **options)
    registry.register(handler)
    return handler


class _Call:
    """One call of a task's body, with the hooks that its class may have."""

    def __init__(self, task: Task, request: BoundRequest) -> None:
        self.task = task
        self.request = request
        self.facts = (request.id, request.args, request.kwargs)

    def answer(self) -> Any:
        task, request = self.task, self.request
        body: Callable[..., Any] = task if task_has_custom(task, "__call__") else task.run
        try:
            task.before_start(*self.facts)
            answer = body(*request.args, **request.kwargs)
            if isinstance(answer, celery.Retry):
                raise answer  # it asked with throw=False, and returned what it got
        except celery.Retry as asked:
            raise self._retry(asked) from asked.exc
        except celery.Ignore as asked:
            raise Discard(f"the task ignored it: {text_of(asked)}".rstrip(": ")) from None
        except celery.Reject as asked:
            raise _rejected(asked) from None
        except (Directive, JobCancelled, LeaseLost):
            raise
        except Exception as error:
            einfo = ExceptionInfo()
            self._after("on_failure", error, *self.facts, einfo)
            self._after("after_return", "FAILURE", error, *self.facts, einfo)
            raise
        self._after("on_success", answer, *self.facts)
        self._after("after_return", "SUCCESS", answer, *self.facts, None)
        return answer

    def _retry(self, asked: celery.Retry) -> Directive:
        """The job's own retry, with what the task says of when."""
        again = asked.sig
        if again is not None and (list(again.args), dict(again.kwargs)) != (
            self.request.args,
            self.request.kwargs,
        ):
            return Fail(
                f"The task {self.task.name} asked for a retry with other arguments. The params of a job never change: "
                "enqueue another one.",
                retryable=False,
            )
        einfo = ExceptionInfo()
        self._after("on_retry", asked.exc, *self.facts, einfo)
        self._after("after_return", "RETRY", asked.exc, *self.facts, einfo)
        reason = text_of(asked.excs or asked.message or "the task asked for it")
        return Retry(self._seconds(asked.when), reason)

    def _seconds(self, when: Any) -> float | None:
        if isinstance(when, datetime):
            return max(0.0, (maybe_make_aware(when, self.task.app.timezone) - clock.now()).total_seconds())
        return None if when is None else max(0.0, float(when))

    def _after(self, hook: str, *facts: Any) -> None:
        """A hook that fails changes nothing: the outcome is there."""
        if not task_has_custom(self.task, hook):
            return
        try:
            getattr(self.task, hook)(*facts)
        except Exception:
            logger.exception("%s of the task %s failed; its outcome stays", hook, self.task.name)


def _rejected(asked: celery.Reject) -> Directive:
    reason = f"the task rejected it: {text_of(asked.reason)}" if asked.reason else "the task rejected it"
    return Retry(None, reason) if asked.requeue else Discard(reason)
