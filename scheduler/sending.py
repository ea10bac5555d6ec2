"""Hints from a beat to the workers, over the broker, in a way that never holds the beat up for long."""

from __future__ import annotations

from typing import Any

import structlog
from celery import Celery
from kombu.exceptions import OperationalError

from jobsplatform.kernel import clock
from scheduler.bridge import TASK_NAME

log = structlog.get_logger("jobsplatform.scheduler")

CONNECT_SECONDS = 1.0
EXPIRES_SECONDS = 60.0
"""A hint that nobody took for so long tells nothing new."""

FIRST_REST_SECONDS = 5.0
LONGEST_REST_SECONDS = 60.0


class Hints:
    """Sends hints while somebody takes them. After a failure, or when told that nobody did, it rests for a while."""

    def __init__(self, app: Celery) -> None:
        self._app = app
        self._connection: Any = None
        self._rests_until = float("-inf")
        self._failures = 0

    @property
    def resting(self) -> bool:
        """Whether none would be sent now."""
        return clock.monotonic() < self._rests_until

    def send(self, count: int = 1) -> bool:
        """Send ``count`` hints; whether the broker took them. Never raises."""
        if self.resting:
            return False
        try:
            with self._app.amqp.Producer(self._open(), auto_declare=False) as producer:
                for _ in range(count):
                    self._app.send_task(
                        TASK_NAME,
                        kwargs={},
                        producer=producer,
                        retry=False,
                        expires=EXPIRES_SECONDS,
                        headers={"celery_beat_task": True},
                    )
        except Exception as error:  # whatever a client library raises: the slots are planned here then
            self._fail(error)
            return False
        self._failures = 0
        return True

    def nobody_answers(self) -> None:
        """No worker took the last hint in time: each has its hands full, or there is none."""
        self._rest()

    def close(self) -> None:
        """Give the connection back."""
        connection, self._connection = self._connection, None
        if connection is not None:
            try:
                connection.release()
            except Exception as error:
                log.debug("scheduler.broker_close", text=str(error))

    def _open(self) -> Any:
        if self._connection is None:
            options = {
                **(self._app.conf.broker_transport_options or {}),
                "socket_connect_timeout": CONNECT_SECONDS,
                "socket_timeout": CONNECT_SECONDS,
            }
            if not str(self._app.conf.broker_url).startswith(("redis", "rediss", "sentinel", "unix")):
                options = dict(self._app.conf.broker_transport_options or {})
            self._connection = self._app.connection_for_write(
                connect_timeout=CONNECT_SECONDS, transport_options=options
            )
        if not self._connection.connected:
            self._connection.ensure_connection(max_retries=1, interval_start=0, timeout=CONNECT_SECONDS)
        return self._connection

    def _fail(self, error: Exception) -> None:
        self.close()
        if self._failures == 0:
            what = "the broker is away" if isinstance(error, OperationalError) else type(error).__name__
            log.warning(
                "scheduler.no_broker", text=f"hints are not sent, slots are planned here: {what}: {error}"
            )
        self._rest()

    def _rest(self) -> None:
        pause = min(LONGEST_REST_SECONDS, FIRST_REST_SECONDS * 2 ** min(self._failures, 10))
        self._failures += 1
        self._rests_until = clock.monotonic() + pause
