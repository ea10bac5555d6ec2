"""Celery and the platform: our own app (``celery -A jobsplatform worker``), and ``install`` for one that you have.

Messages are hints (the database is the truth), so they are acknowledged when a run starts, keep no results,
and may be lost. ``-Q`` names the platform queues that a worker serves; without it these are TASKS__QUEUES.
Your own plain Celery tasks run beside the platform's jobs.

Importing this makes no app and reads no settings: ``app`` is made when it is first asked for.
"""

from __future__ import annotations

import gc
import logging
import os
import threading
from collections.abc import Mapping
from importlib import import_module
from typing import Any

from celery import Celery, _state
from celery.signals import (
    celeryd_init,
    import_modules,
    task_postrun,
    task_prerun,
    worker_before_create_process,
)
from celery.utils.imports import symbol_by_name
from django.apps import apps
from django.db import close_old_connections
from kombu import Queue

from jobsplatform.kernel import config
from jobsplatform.kernel.config import Config
from jobsplatform.kernel.forks import run_apart

TASK_MODULES = {"tasks": "tasks.worker.task", "scheduler": "scheduler.bridge"}
"""By the app that must be installed for them."""
STEPS = ("tasks.worker.bootstep:WorkerStep", "scheduler.sweeper:SweepStep")
PREFLIGHT = "tasks.worker.preflight:or_exit"
OWN_TASKS = ("core.tasks.run", "core.scheduler.trigger")

KEEP_CONNECTIONS = 1_000_000_000
"""Celery's Django support closes the database connection round every task unless this many reuse it; jobs
look after their connections themselves, and plain tasks get Django's own rule (see ``_close_old``)."""

DEFAULTS: Mapping[str, Any] = {
    "CELERY_DB_REUSE_MAX": KEEP_CONNECTIONS,
    # Log lines of a worker look like those of every other process.
    "worker_hijack_root_logger": False,
    "worker_redirect_stdouts": False,
}
"""What an app that we are installed on has where its own settings say nothing."""

app: Celery
"""Our own; see ``__getattr__``."""

_making = threading.Lock()
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
    """Make the workers of ``celery_app`` workers of the platform: jobs run beside the tasks that it has.

    To be called where the app is made; nothing is read or imported before a worker starts. Without ``-Q`` a worker
    also serves the platform's queues (TASKS__QUEUES).
    """
    # Celery runs Django's checks and forgets what they say; the preflight runs them and says it.
    os.environ.setdefault("CELERY_SKIP_CHECKS", "1")
    celery_app.steps["worker"].update(STEPS)
    celery_app.add_defaults(lambda: DEFAULTS)
    import_modules.connect(_import_tasks, sender=celery_app, weak=False)
    _quieten()
    return celery_app


def _is_ours(celery_app: Celery) -> bool:
    return set(STEPS) <= celery_app.steps["worker"]


def _import_tasks(**_: Any) -> None:
    """The two tasks of ours, which every Celery app of this process then has. Django is set up by now."""
    for label, module in TASK_MODULES.items():
        if apps.is_installed(label):
            import_module(module)


class _OwnRuns(logging.Filter):
    """Keeps out the lines of Celery about runs, which have better ones of their own."""

    def filter(self, record: logging.LogRecord) -> bool:
        told = record.args
        # <job>:<lease>; no other id has a colon.
        return not (isinstance(told, Mapping) and ":" in str(told.get("id", "")))


def _quieten() -> None:
    logger = logging.getLogger("celery.app.trace")
    if not any(isinstance(each, _OwnRuns) for each in logger.filters):
        logger.addFilter(_OwnRuns())


def __getattr__(name: str) -> Any:
    if name != "app":
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    with _making:
        if "app" not in globals():
            globals()["app"] = _make()
    return globals()["app"]


def _make() -> Celery:
    os.environ.setdefault("DJANGO_SETTINGS_MODULE", "jobsplatform.settings")
    # A line that a message came and one that it went, beside the job's own; which queues a drain leaves.
    for chatty in ("celery.worker.strategy", "celery.app.trace", "celery.worker.consumer.consumer"):
        logging.getLogger(chatty).setLevel(logging.WARNING)
    made = Celery("jobsplatform")
    made.conf.update(settings_of(config.get()))
    made.conf["CELERY_DB_REUSE_MAX"] = KEEP_CONNECTIONS
    made.autodiscover_tasks()
    if _state.default_app is None or _state.default_app.main == "default":
        # Celery has made one for itself when somebody asked for tasks before; threads of a worker would go by that one.
        made.set_default()
    return install(made)


@celeryd_init.connect(weak=False)
def _prepare(instance: Any = None, options: Mapping[str, Any] | None = None, **_: Any) -> None:
    """Before a worker program starts anything: look whether it can, and add our queues to its own."""
    if instance is None or not _is_ours(instance.app):
        return
    # Apart, because it loads every page and every migration.
    run_apart(lambda: symbol_by_name(PREFLIGHT)(instance.app))
    if not (options or {}).get("queues"):
        queues = instance.app.amqp.queues
        for name in config.get().tasks.queues:
            if name not in queues.consume_from:
                queues.select_add(queues.new_missing(name))


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
