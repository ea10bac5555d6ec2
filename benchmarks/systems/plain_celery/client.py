"""Sends Celery messages."""

from __future__ import annotations

import json
from typing import Any
from uuid import uuid4

from benchmarks.client import Client

PIPELINE = 1_000
SAMPLE = "bench.sample"


class CeleryClient(Client):
    """One producer of the app's pool, kept open."""

    def __init__(self, app: Any) -> None:
        self._app = app
        self._tasks = {kind: app.tasks[f"bench.{kind}"] for kind in ("noop", "short", "busy", "stamp")}

    def prepare(self) -> None:
        """Nothing: queues make themselves."""

    def enqueue_one(self, kind: str, number: int) -> None:
        self._tasks[kind].apply_async((number,))

    def enqueue_many(self, kind: str, count: int) -> None:
        """Celery has no bulk call that sends faster than one after the other with one producer."""
        with self._app.producer_or_acquire() as producer:
            for number in range(count):
                self._tasks[kind].apply_async((number,), producer=producer)

    def fill(self, kind: str, count: int) -> None:
        """Copies of a message that Celery itself sent, each with an id of its own: only the filling is faster."""
        queue = self._app.conf.task_default_queue
        # To a queue that no worker takes it from.
        self._tasks[kind].apply_async((0,), queue=SAMPLE)
        with self._app.connection_for_write() as connection:
            redis = connection.default_channel.client
            message = json.loads(redis.rpop(SAMPLE))
            message["properties"]["delivery_info"]["routing_key"] = queue
            for start in range(0, count, PIPELINE):
                pipeline = redis.pipeline(transaction=False)
                for _ in range(min(PIPELINE, count - start)):
                    pipeline.lpush(queue, json.dumps(_renewed(message)))
                pipeline.execute()


def _renewed(message: dict[str, Any]) -> dict[str, Any]:
    task_id = str(uuid4())
    headers, properties = message["headers"], message["properties"]
    return {
        **message,
        "headers": {**headers, "id": task_id, "root_id": task_id},
        "properties": {**properties, "correlation_id": task_id, "delivery_tag": str(uuid4())},
    }


def make() -> CeleryClient:
    from benchmarks.systems.plain_celery.app import app

    return CeleryClient(app)
