"""Celery's consumer, made to outlive whatever a lost broker connection does while it is closed."""

from __future__ import annotations

from typing import Any

import structlog
from celery.worker.consumer import Consumer

log = structlog.get_logger("jobsplatform.worker")

# What kombu raises for something in a queue that is no message at all. It has been taken off by then, so a new
# connection goes on with the next one; without this the worker would end.
_UNREADABLE = (ValueError, KeyError, TypeError)

STOCK = "celery.worker.consumer:Consumer"


class PatientConsumer(Consumer):
    """Connects again after any failure to close a broken connection.

    Celery forgives the closing only errors of the network. A broker that goes twice in a moment can leave a
    channel without its connection; closing that one fails otherwise, and would end the worker with all its runs.
    """

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        known: tuple[type[BaseException], ...] = getattr(self, "connection_errors", ())
        self.connection_errors = (*known, *_UNREADABLE)

    def on_connection_error_after_connected(self, exc: Exception) -> None:
        try:
            super().on_connection_error_after_connected(exc)
        except Exception as error:
            self.connection = None
            log.warning(
                "broker.close_failed",
                text=f"closing the lost connection to the broker failed ({type(error).__name__}: {error}); "
                "a new one is made",
            )


def choose(consumer_class: object) -> object:
    """Ours in place of Celery's own; one that a project has chosen for itself stays."""
    return PatientConsumer if consumer_class == STOCK else consumer_class
