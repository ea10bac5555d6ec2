"""Facts, told after they are committed.

``emit`` hands an event to every subscriber once the surrounding transaction has committed (at once when
there is none); a rollback tells nobody. A subscriber that raises is logged and never breaks the emitter.
"""

from __future__ import annotations

import logging
from collections.abc import Callable
from typing import Any

from django.db import transaction

logger = logging.getLogger("jobsplatform.events")

Subscriber = Callable[[Any], None]

_subscribers: dict[type, tuple[Subscriber, ...]] = {}


def subscribe(kind: type, subscriber: Subscriber) -> None:
    """Call ``subscriber(event)`` for each event that is a ``kind`` (or a subclass of it). Twice is once."""
    have = _subscribers.get(kind, ())
    if subscriber not in have:
        _subscribers[kind] = (*have, subscriber)


def unsubscribe(kind: type, subscriber: Subscriber) -> None:
    """Undo ``subscribe``."""
    # A bound method is a new object each time it is named: equal, never the same.
    _subscribers[kind] = tuple(s for s in _subscribers.get(kind, ()) if s != subscriber)


def emit(event: object) -> None:
    """Tell ``event`` after the commit of the current transaction."""
    transaction.on_commit(lambda: deliver(event), robust=True)


def deliver(event: object) -> None:
    """Hand ``event`` to its subscribers now."""
    for kind in type(event).__mro__:
        for subscriber in _subscribers.get(kind, ()):
            try:
                subscriber(event)
            except Exception:
                logger.exception("a subscriber of %s failed; the others go on", type(event).__name__)
