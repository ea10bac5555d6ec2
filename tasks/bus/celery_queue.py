"""Handing runs to a Celery queue of the app's own, on a broker of the app's own.

Off unless an operator names that broker (``BUS__CELERY_BROKERS``). The platform's own broker is never shared: whoever
can write to it can have the workers run anything.
"""

from __future__ import annotations

import threading
from typing import Any

from celery import Celery

from jobsplatform.kernel import clock, config
from tasks.bus.deferring import deferred_seconds
from tasks.bus.deliveries import delivery_of
from tasks.bus.leaving import Leaving
from tasks.bus.proxy import BusProxyHandler
from tasks.models import Job
from tasks.outcomes import Ending

TASK = "jobsplatform.run"
"""The name of the task that the app's own worker must have; it is called with ``delivery=…``."""

CONNECT_SECONDS = 5.0

_apps: dict[tuple[str, str], Celery] = {}
_making = threading.Lock()


def queue_of(handler: BusProxyHandler) -> str:
    """Where its runs go: ``bus.<app_id>.<service>``."""
    return f"bus.{handler.spec.app_id}.{handler.service}"


def is_on(app_id: str) -> bool:
    """Whether an operator has named a broker for the app."""
    return app_id in config.get().bus.celery_brokers


def send(job: Job, handler: BusProxyHandler, leaving: Leaving) -> Ending | None:
    """Put one run into the app's queue; its end is told over the bus. None: this process is to end, hand the run back.
    Raises what the broker raises."""
    if leaving.asked.is_set():
        return None
    url = config.get().bus.celery_brokers[job.app_id]
    _app(job.app_id, url).send_task(
        TASK,
        kwargs={"delivery": delivery_of(job, handler, clock.now())},
        queue=queue_of(handler),
        task_id=f"{job.id}:{job.lease}",
        ignore_result=True,
        retry=False,
    )
    return Ending("deferred", deadline=deferred_seconds(job))


def _app(app_id: str, url: str) -> Celery:
    with _making:
        app = _apps.get((app_id, url))
        if app is None:
            options: dict[str, Any] = {
                "socket_connect_timeout": CONNECT_SECONDS,
                "socket_timeout": CONNECT_SECONDS,
            }
            app = Celery(f"bus.{app_id}", broker=url, set_as_current=False)
            app.conf.update(
                task_serializer="json",
                accept_content=["json"],
                task_create_missing_queues=True,
                broker_connection_retry=False,
                broker_connection_timeout=CONNECT_SECONDS,
                broker_transport_options=options if url.startswith("redis") else {},
            )
            _apps[app_id, url] = app
        return app
