"""The Celery app: ``celery -A jobsplatform worker``.

Messages are hints (the database is the truth), so they are acknowledged when a run starts, keep no results,
and may be lost. ``-Q`` names the platform queues that a worker serves; without it these are TASKS__QUEUES.
Your own plain Celery tasks run beside the platform's jobs.
"""

from __future__ import annotations

import gc
import logging
import os
from typing import Any

from celery import Celery
from celery.signals import celeryd_init, task_postrun, task_prerun, worker_before_create_process
from celery.utils.imports import symbol_by_name
from django.db import close_old_connections
from kombu import Queue

from jobsplatform.kernel import config
from jobsplatform.kernel.config import Config
from jobsplatform.kernel.forks import run_apart

os.environ.setdefault("DJANGO_SETTINGS_MODULE", "jobsplatform.settings")
# Celery runs Django's checks and forgets what they say; the preflight runs them and says it.
os.environ.setdefault("CELERY_SKIP_CHECKS", "1")

TASK_MODULES = ("tasks.worker.task", "scheduler.bridge")
STEPS = ("tasks.worker.bootstep:WorkerStep", "scheduler.sweeper:SweepStep")
PREFLIGHT = "tasks.worker.preflight:or_exit"
OWN_TASKS = ("core.tasks.run", "core.scheduler.trigger")

KEEP_CONNECTIONS = 1_000_000_000
"""Celery's Django support closes the database connection round every task unless this many reuse it; jobs
look after their connections themselves, and plain tasks get Django's own rule (see ``_close_old``)."""

_frozen = False

POLL_SECONDS = 0.05
"""How often the in-memory broker is asked; its default of a second would start one job a second and slot."""


def settings_of(platform: Config) -> dict[str, Any]:
    """Celery's settings, from the platform's."""
    broker = platform.celery_broker_url
    return {
        # Without a host kombu warns at each connection that it takes this one.
        "broker_url": "memory://localhost/" if broker == "memory://" else broker,
        "broker_transport_options": transport_options(broker),
        "broker_connection_retry_on_startup": True,
        "broker_connection_max_retries": None,
        # A Redis that is no longer the primary answers with errors that are none of the connection.
        "broker_channel_error_retry": True,
        "broker_connection_timeout": 4.0,
        "broker_heartbeat": 0,
        "accept_content": ["json"],
        "task_serializer": "json",
        "result_serializer": "json",
        "task_ignore_result": True,
        "task_store_errors_even_if_ignored": False,
        "task_acks_late": False,
        "task_default_queue": "default" if "default" in platform.tasks.queues else platform.tasks.queues[0],
        "task_queues": [Queue(name) for name in platform.tasks.queues],
        "task_create_missing_queues": True,
        "worker_prefetch_multiplier": 1,
        "worker_cancel_long_running_tasks_on_connection_loss": False,
        "worker_hijack_root_logger": False,
        "worker_redirect_stdouts": False,
        "worker_send_task_events": False,
        "worker_proc_alive_timeout": 30.0,
        "timezone": "UTC",
        "enable_utc": True,
        "include": list(TASK_MODULES),
    }


def transport_options(broker_url: str) -> dict[str, Any]:
    """What the broker's client is told. Only Redis has a visibility timeout: messages that a dead worker held
    come back after it, to a lease that has long passed on."""
    if broker_url.startswith("memory://"):
        return {"polling_interval": POLL_SECONDS}
    if not broker_url.startswith(("redis", "rediss", "sentinel", "unix")):
        return {}
    return {
        "visibility_timeout": 3600,
        "socket_timeout": 10.0,
        "socket_connect_timeout": 4.0,
        "socket_keepalive": True,
        "health_check_interval": 15,
        # Only a client that never sends twice sends several messages in one go.
        "retry_on_timeout": False,
    }


def install(celery_app: Celery) -> Celery:
    """Make the workers of ``celery_app`` workers of the platform."""
    celery_app.steps["worker"].update(STEPS)
    return celery_app


# A line that a message came and one that it went, beside the job's own; which queues a drain leaves.
for _chatty in ("celery.worker.strategy", "celery.app.trace", "celery.worker.consumer.consumer"):
    logging.getLogger(_chatty).setLevel(logging.WARNING)

app = Celery("jobsplatform")
app.conf.update(settings_of(config.get()))
app.conf["CELERY_DB_REUSE_MAX"] = KEEP_CONNECTIONS
app.autodiscover_tasks()
install(app)


@celeryd_init.connect(weak=False)
def _preflight(**_: Any) -> None:
    """Before a worker program starts anything: look whether it can."""
    # Apart, because it loads every page and every migration.
    run_apart(lambda: symbol_by_name(PREFLIGHT)(app))


@worker_before_create_process.connect(weak=False)
def _freeze(**_: Any) -> None:
    """What is there before the first fork stays as it is: the children's collector touches none of it, so that
    they share its memory with us."""
    global _frozen
    if not _frozen:
        gc.collect()
        gc.freeze()
        _frozen = True


@task_prerun.connect(weak=False)
@task_postrun.connect(weak=False)
def _close_old(sender: Any = None, **_: Any) -> None:
    """Plain tasks get Django's rule: a connection that is too old or broken is closed."""
    if getattr(sender, "name", "") not in OWN_TASKS:
        close_old_connections()
