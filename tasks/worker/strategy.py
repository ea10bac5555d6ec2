"""What the worker's main process does with a run message: make its request and give it to the pool, in its turn.

Celery's own way through here also serves what run messages never have: countdowns, rate limits, older protocols.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any
from uuid import UUID

from celery import signals
from celery.utils.imports import symbol_by_name
from celery.worker.request import create_request_cls
from celery.worker.state import task_reserved
from celery.worker.strategy import default

from jobsplatform.kernel import clock
from tasks.worker.incarnation import DIRECT_PREFIX
from tasks.worker.lines import LINES
from tasks.worker.sender import SLOT_HEADER

Handler = Callable[..., Any]


def strategy(task: Any, app: Any, consumer: Any, **options: Any) -> Handler:
    """The handler of run messages, in the shape that Celery asks of a task's ``Strategy``."""
    other = default(task, app, consumer, **options)
    request_class = _lined(
        create_request_cls(
            symbol_by_name(task.Request),
            task,
            consumer.pool,
            consumer.hostname,
            consumer.event_dispatcher,
            app=app,
        )
    )

    def handle(message: Any, body: Any, ack: Any, reject: Any, callbacks: Any) -> Any:
        if body is not None or not _is_direct(message):
            # Not sent by a dispatcher of ours: Celery deals with it as with any task.
            return other(message, body, ack, reject, callbacks)

        def begin() -> Any:
            request = request_class(
                message,
                # Acknowledged on delivery: the row of the job is what survives, not the message.
                on_ack=_nothing,
                on_reject=_nothing,
                app=app,
                hostname=consumer.hostname,
                eventer=consumer.event_dispatcher,
                task=task,
                connection_errors=consumer.connection_errors,
                body=message.body,
                headers=message.headers,
                decoded=False,
                utc=True,
            )
            if request.revoked():
                return None
            signals.task_received.send(sender=consumer, request=request)
            task_reserved(request)
            for callback in callbacks:
                callback(request)
            consumer.on_task_request(request)
            return request

        slot = _slot_of(message.headers)
        if slot is None:
            return begin()
        LINES.enter(slot, begin, clock.monotonic())
        return None

    return handle


def _nothing(*args: Any, **kwargs: Any) -> None:
    """There is nothing to acknowledge."""


def _is_direct(message: Any) -> bool:
    return str((message.delivery_info or {}).get("routing_key", "")).startswith(DIRECT_PREFIX)


def _slot_of(headers: Any) -> UUID | None:
    try:
        return UUID(headers[SLOT_HEADER])
    except (KeyError, TypeError, ValueError, AttributeError):
        return None


def _lined(base: Any) -> Any:
    class Lined(base):
        """Lets the next one in its slot begin when it has ended, however it did."""

        _left = False

        def on_success(self, *args: Any, **kwargs: Any) -> Any:
            try:
                return super().on_success(*args, **kwargs)
            finally:
                self._leave()

        def on_failure(self, *args: Any, **kwargs: Any) -> Any:
            try:
                return super().on_failure(*args, **kwargs)
            finally:
                self._leave()

        def _leave(self) -> None:
            slot = None if self._left else _slot_of(self.request_dict)
            self._left = True
            if slot is not None:
                LINES.leave(slot, clock.monotonic())

    return Lined
