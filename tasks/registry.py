"""Which handlers this process knows. Changes copy the table, so that lookups take no lock."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from contextlib import contextmanager

from jobsplatform.kernel.errors import DuplicateHandler, UnknownName
from tasks.spec import JobHandler

_changing = threading.Lock()
_handlers: dict[str, JobHandler] = {}


def register(handler: JobHandler) -> None:
    """Make ``handler`` known. Raises DuplicateHandler, naming both places, when its key is taken."""
    global _handlers
    key = handler.spec.key
    with _changing:
        other = _handlers.get(key)
        if other is not None:
            raise DuplicateHandler(
                f"The job type {shown(key)} is declared twice: at {other.place} and at {handler.place}. "
                "Rename one, or say registry.replace(handler) if that is meant.",
                first=other.place,
                second=handler.place,
            )
        _handlers = {**_handlers, key: handler}


def replace(handler: JobHandler) -> JobHandler | None:
    """Make ``handler`` known in place of the one with its key, which is given back."""
    global _handlers
    with _changing:
        before = _handlers.get(handler.spec.key)
        _handlers = {**_handlers, handler.spec.key: handler}
    return before


def unregister(key: str) -> JobHandler | None:
    """Forget the handler with this key, and give it back; None when there was none."""
    global _handlers
    with _changing:
        before = _handlers.get(key)
        _handlers = {other: handler for other, handler in _handlers.items() if other != key}
    return before


def find(app_id: str, job_type: str) -> JobHandler | None:
    """The handler, or None."""
    return _handlers.get(f"{app_id}:{job_type}")


def get(app_id: str, job_type: str) -> JobHandler:
    """The handler. Raises UnknownName with the nearest known one."""
    return by_key(f"{app_id}:{job_type}")


def by_key(key: str) -> JobHandler:
    """The handler of ``app_id:job_type``. Raises UnknownName with the nearest known one."""
    handler = _handlers.get(key)
    if handler is None:
        raise UnknownName("job type", shown(key), [shown(known) for known in _handlers])
    return handler


def shown(key: str) -> str:
    """A handler key as people write it: the host's own without the colon in front."""
    return key.removeprefix(":")


def keys() -> frozenset[str]:
    """The handler keys known now."""
    return frozenset(_handlers)


def all() -> list[JobHandler]:  # noqa: A001
    """The handlers known now, by key."""
    return [handler for _, handler in sorted(_handlers.items())]


@contextmanager
def preserved() -> Iterator[None]:
    """Undo every change made inside the block (tests)."""
    global _handlers
    before = _handlers
    try:
        yield
    finally:
        with _changing:
            _handlers = before
