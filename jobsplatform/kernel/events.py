"""Facts, told after they are committed.

``emit`` hands an event to every subscriber once the surrounding transaction has committed (at once when
there is none); a rollback tells nobody. A subscriber that raises is logged and never breaks the emitter.
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, TypeVar, dataclass_transform

from django.db import transaction

logger = logging.getLogger("jobsplatform.events")

Subscriber = Callable[[Any], None]
T = TypeVar("T")


@dataclass_transform(frozen_default=True)
def event(cls: type[T]) -> type[T]:
    """A dataclass of facts. Type checkers hold it to be frozen; at runtime it is not, because a frozen one takes
    three times as long to make, and each run makes three."""
    return dataclass(slots=True)(cls)


_subscribers: dict[type, tuple[Subscriber, ...]] = {}
_found: dict[type, tuple[Subscriber, ...]] = {}  # of a kind and its bases; anew after each change


def subscribe(kind: type, subscriber: Subscriber) -> None:
    """Call ``subscriber(event)`` for each event that is a ``kind`` (or a subclass of it). Twice is once."""
    global _found
    have = _subscribers.get(kind, ())
    if subscriber not in have:
        _subscribers[kind] = (*have, subscriber)
        _found = {}


def unsubscribe(kind: type, subscriber: Subscriber) -> None:
    """Undo ``subscribe``."""
    # A bound method is a new object each time it is named: equal, never the same.
    global _found
    _subscribers[kind] = tuple(s for s in _subscribers.get(kind, ()) if s != subscriber)
    _found = {}


def emit(event: object) -> None:
    """Tell ``event`` after the commit of the current transaction."""
    transaction.on_commit(lambda: deliver(event), robust=True)


def emit_all(told: Sequence[object]) -> None:
    """``emit`` for several events, in their order, at the cost of one."""

    def committed() -> None:
        deliver_all(told)

    transaction.on_commit(committed, robust=True)


def deliver(event: object) -> None:
    """Hand ``event`` to its subscribers now."""
    for subscriber in _subscribers_of(type(event)):
        try:
            subscriber(event)
        except Exception:
            logger.exception("a subscriber of %s failed; the others go on", type(event).__name__)


def deliver_all(told: Sequence[object]) -> None:
    """``deliver`` for several events, in their order."""
    for event in told:
        deliver(event)


def _subscribers_of(kind: type) -> tuple[Subscriber, ...]:
    found = _found  # a change meanwhile replaces it, and forgets what is put into this one
    subscribers = found.get(kind)
    if subscribers is None:
        subscribers = tuple(s for base in kind.__mro__ for s in _subscribers.get(base, ()))
        found[kind] = subscribers
    return subscribers
