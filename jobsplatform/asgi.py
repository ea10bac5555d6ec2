"""The web entry: ``uvicorn jobsplatform.asgi:application``."""

from __future__ import annotations

import os
from typing import Any

from django.core.asgi import get_asgi_application
from django.core.signals import request_finished
from django.db import connections

os.environ.setdefault("DJANGO_SETTINGS_MODULE", "jobsplatform.settings")


def close_request_connections(**_: Any) -> None:
    """Close this request's database connections: under ASGI each request has a thread of its own, so a
    connection kept open could never be used again. One in a transaction is a test's, around the request."""
    for connection in connections.all(initialized_only=True):
        if not connection.in_atomic_block:
            connection.close()


application = get_asgi_application()
request_finished.connect(close_request_connections)
