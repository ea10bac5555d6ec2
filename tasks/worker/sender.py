"""Send a claimed job's message to its worker's own queue; free of the broker, which may be away."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any
from uuid import UUID

import structlog
from kombu import Exchange, Queue

from jobsplatform.kernel import clock
from jobsplatform.kernel.errors import Unreachable
from tasks import registry
from tasks.dispatch import Claimed
from tasks.worker.incarnation import direct_queue

log = structlog.get_logger("jobsplatform.worker")

TASK_NAME = "core.tasks.run"
WORKER_HEADER = "jp_worker"
SLOT_HEADER = "jp_slot"

REST_SECONDS = 1.0
"""After a failure nothing is claimed, and nothing sent, for so long."""


class BrokerAway(Unreachable):
    """The broker does not take messages; the job is handed back and sent again later."""

    code = "BROKER_AWAY"


def direct(process_id: UUID) -> Queue:
    """The queue that only this incarnation consumes.

    Its messages are acknowledged as they are delivered: one that is lost with its worker is of no use to any other,
    and the broker need not keep account of it.
    """
    name = direct_queue(process_id)
    return Queue(name, Exchange(name, type="direct"), routing_key=name, no_ack=True)


def message_id(job_id: UUID, lease: int) -> str:
    """The Celery id of one run: a later run of the same job has another."""
    return f"{job_id}:{lease}"


class Sender:
    """Sends over the Celery app's producer pool. One for a process; the dispatcher's thread uses it."""

    def __init__(self, app: Any) -> None:
        self._app = app
        self._rests_until = 0.0
        self._away = False
        self._producer: Any = None  # of the batch that is open

    def is_ready(self) -> bool:
        """False for a moment after a failure: claiming what cannot be sent would only shuffle rows."""
        return clock.monotonic() >= self._rests_until

    def send(self, claimed: Claimed, process_id: UUID) -> None:
        """Send one message, or have it sent with the others of the open batch. Raises BrokerAway at once while the
        broker rests."""
        if not self.is_ready():
            raise BrokerAway("The broker did not take the last message; waiting a moment.")
        try:
            if self._producer is not None:
                self._publish(self._producer, claimed, process_id)
                return
            with self._app.producer_pool.acquire(block=True) as producer:
                self._publish(producer, claimed, process_id)
        except Exception as error:
            self._fail(error)
        self._succeeded()

    @contextmanager
    def together(self) -> Iterator[None]:
        """What is sent inside leaves in one go at the end. Raises BrokerAway then when it did not."""
        try:
            with self._app.producer_pool.acquire(block=True) as producer, producer.batch():
                self._producer = producer
                try:
                    yield
                finally:
                    self._producer = None
        except Exception as error:
            self._fail(error)
        self._succeeded()

    def _succeeded(self) -> None:
        if self._away and self.is_ready():
            self._away = False
            log.info("broker.back", text="the broker takes messages again")

    def _publish(self, producer: Any, claimed: Claimed, process_id: UUID) -> None:
        app_id, _, job_type = claimed.handler_key.partition(":")
        handler = registry.find(app_id, job_type)
        spec = handler.spec if handler is not None else None
        key, number = (claimed.job_id, claimed.lease) if claimed.pack is None else (claimed.pack, 0)
        headers = {WORKER_HEADER: str(process_id)}
        if claimed.slot is not None:
            headers[SLOT_HEADER] = str(claimed.slot)
        message = self._app.amqp.as_task_v2(
            message_id(key, number),
            TASK_NAME,
            args=(str(key), number),
            shadow=claimed.job_type,
            argsrepr=f"({key}, {number})",
            kwargsrepr="{}",
            soft_time_limit=spec.soft_timeout if spec else None,
            time_limit=spec.timeout if spec else None,
            ignore_result=True,
        )
        # Straight into the queue, which its consumer has declared: an exchange costs another round trip each time.
        producer.publish(
            message.body,
            exchange="",
            routing_key=direct_queue(process_id),
            headers={**message.headers, **headers},
            serializer="json",
            retry=False,
            **message.properties,
        )

    def _fail(self, error: Exception) -> None:
        self._rests_until = clock.monotonic() + REST_SECONDS
        if not self._away:
            self._away = True
            log.error(
                "broker.away",
                text=f"the broker does not take messages; jobs wait in the database ({error})",
            )
        raise BrokerAway(f"The broker does not take messages: {error}") from error

    def remove_queue(self, process_id: UUID) -> None:
        """Remove the queue of an incarnation that has ended. A broker that is away is no reason to fail."""
        try:
            with self._app.connection_for_write() as connection:
                connection.ensure_connection(max_retries=1, timeout=2.0)
                queue = direct(process_id).bind(connection.default_channel)
                # Declaring first tells this process of the binding, which deleting then removes.
                queue.declare()
                queue.delete()
        except Exception as error:
            log.debug("queue.not_removed", process_id=str(process_id), error=str(error))
