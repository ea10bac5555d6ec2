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
from tasks.worker.inflight import parse_keys
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

    def begin(messages: list[Any]) -> Any:
        first = messages[0]
        request = request_class(
            first,
            # Acknowledged on delivery: the row of the job is what survives, not the message.
            on_ack=_nothing,
            on_reject=_nothing,
            app=app,
            hostname=consumer.hostname,
            eventer=consumer.event_dispatcher,
            task=task,
            connection_errors=consumer.connection_errors,
            body=first.body if len(messages) == 1 else _together(messages),
            headers=first.headers,
            decoded=len(messages) > 1,
            utc=True,
        )
        if request.revoked():
            return None
        signals.task_received.send(sender=consumer, request=request)
        task_reserved(request)
        for callback in consumer.on_task_message:
            callback(request)
        consumer.on_task_request(request)
        return request

    def handle(message: Any, body: Any, ack: Any, reject: Any, callbacks: Any) -> Any:
        if body is not None or not _is_direct(message):
            # Not sent by a dispatcher of ours: Celery deals with it as with any task.
            return other(message, body, ack, reject, callbacks)
        slot, keys = _slot_of(message.headers), parse_keys(*message.payload[:2])
        if slot is None or len(keys) != 1:
            begin([message])
        else:
            # A pack is work enough by itself, and a time limit is kept for what the pool is given as one.
            alone = keys[0][1] == 0 or any(message.headers.get("timelimit") or ())
            LINES.enter(slot, message, clock.monotonic(), alone=alone)
        return None

    LINES.serve(begin)
    return handle


def _together(messages: list[Any]) -> Any:
    """The body of one request for the runs of several messages: one argument, the list of theirs."""
    runs = [message.payload[0] for message in messages]
    return ([runs], {}, {})


def _nothing(*args: Any, **kwargs: Any) -> None:
    """There is nothing to acknowledge."""


def _is_direct(message: Any) -> bool:
    """Did it come by a queue of ours? Its sender says so; but one that the broker keeps account of did not, and must be
    acknowledged."""
    kept = getattr(getattr(message.channel, "qos", None), "_delivered", None) or ()
    if message.delivery_tag in kept:
        return False
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
            if self._left:
                return
            self._left = True
            slot = _slot_of(self.request_dict)
            if slot is None:
                LINES.ended()
            else:
                LINES.leave(slot, clock.monotonic())

    return Lined
