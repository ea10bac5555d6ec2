"""The platform's Celery app on a broker that gives messages back after one second."""

from __future__ import annotations

from jobsplatform.celery import app

app.conf.broker_transport_options = {
    **app.conf.broker_transport_options,
    "visibility_timeout": 1,
    "unacked_restore_interval": 1,
    "unacked_restore_throttle": 1,
}
