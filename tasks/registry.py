"""Which handlers this process knows. Changes copy the tables, so that lookups take no lock.

Two tables: what this process declares itself, and what sidecars have bound to themselves (``tasks.bus.bindings`` keeps
that one in step with the rows). A bound type is its sidecar's, whatever this process may declare under its name.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Hashable, Iterator, Mapping
from contextlib import contextmanager

from jobsplatform.kernel.errors import DuplicateHandler, UnknownName
from tasks.spec import JobHandler

Look = Callable[[bool], None]
"""Brings the table of bound types up to date; True: somebody asked for a name that nobody knows."""

_changing = threading.Lock()
_declared: dict[str, JobHandler] = {}
_bound: Mapping[str, JobHandler] = {}
_mark: Hashable = None
_handlers: dict[str, JobHandler] = {}
_look: Look | None = None


def register(handler: JobHandler) -> None:
    """Make ``handler`` known. Raises DuplicateHandler, naming both places, when its key is taken."""
    key = handler.spec.key
    with _changing:
        other = _declared.get(key)
        if other is not None:
            raise DuplicateHandler(
                f"The job type {shown(key)} is declared twice: at {other.place} and at {handler.place}. "
                "Rename one, or say registry.replace(handler) if that is meant.",
                first=other.place,
                second=handler.place,
            )
        _set({**_declared, key: handler}, _bound)


def replace(handler: JobHandler) -> JobHandler | None:
    """Make ``handler`` known in place of the one with its key, which is given back."""
    with _changing:
        before = _declared.get(handler.spec.key)
        _set({**_declared, handler.spec.key: handler}, _bound)
    return before


def unregister(key: str) -> JobHandler | None:
    """Forget the handler with this key, and give it back; None when there was none."""
    with _changing:
        before = _declared.get(key)
        _set({other: handler for other, handler in _declared.items() if other != key}, _bound)
    return before


def bind(handlers: Mapping[str, JobHandler], mark: Hashable) -> None:
    """These are the types that sidecars have bound, all of them. ``mark`` is kept beside them, for ``bound_mark``."""
    global _mark
    with _changing:
        _mark = mark
        _set(_declared, dict(handlers))


def bound_mark() -> Hashable:
    """What the last ``bind`` said of its table."""
    return _mark


def watch(look: Look | None) -> None:
    """Call ``look`` before answers that depend on bound types. None: they never change (tests)."""
    global _look
    _look = look


def watching() -> Look | None:
    """What ``watch`` was last given."""
    return _look


def _set(declared: dict[str, JobHandler], bound: Mapping[str, JobHandler]) -> None:
    global _declared, _bound, _handlers
    _declared, _bound, _handlers = declared, bound, {**declared, **bound}


def _known(key: str) -> JobHandler | None:
    handler = _handlers.get(key)
    # What sidecars bind has an app.
    if _look is not None and not key.startswith(":") and (handler is None or key in _bound):
        _look(handler is None)
        handler = _handlers.get(key)
    return handler


def _freshen() -> None:
    if _look is not None:
        _look(False)


def find(app_id: str, job_type: str) -> JobHandler | None:
    """The handler, or None."""
    return _known(f"{app_id}:{job_type}")


def find_declared(key: str) -> JobHandler | None:
    """The handler that this process itself declares under a key, or None. Asks nobody, the database neither."""
    return _declared.get(key)


def get(app_id: str, job_type: str) -> JobHandler:
    """The handler. Raises UnknownName with the nearest known one."""
    return by_key(f"{app_id}:{job_type}")


def by_key(key: str) -> JobHandler:
    """The handler of ``app_id:job_type``. Raises UnknownName with the nearest known one."""
    handler = _known(key)
    if handler is None:
        app = key.partition(":")[0]
        # Whoever asks for an app's type may be that app: it is not told what others have.
        near = [known for known in _handlers if not app or known.startswith(f"{app}:")]
        raise UnknownName("job type", shown(key), map(shown, near))
    return handler


def shown(key: str) -> str:
    """A handler key as people write it: the host's own without the colon in front."""
    return key.removeprefix(":")


def keys() -> frozenset[str]:
    """The handler keys known now, whoever runs them."""
    _freshen()
    return frozenset(_handlers)


def own_keys() -> frozenset[str]:
    """The handler keys whose jobs this process can run itself: declared here, and not bound by a sidecar."""
    _freshen()
    return frozenset(_declared) - _bound.keys()


def bound() -> Mapping[str, JobHandler]:
    """The types that sidecars run, by handler key."""
    _freshen()
    return _bound


def declared() -> list[JobHandler]:
    """The handlers that this process declares, by key."""
    return [handler for _, handler in sorted(_declared.items())]


def all() -> list[JobHandler]:  # noqa: A001
    """The handlers known now, by key."""
    _freshen()
    return [handler for _, handler in sorted(_handlers.items())]


@contextmanager
def preserved() -> Iterator[None]:
    """Undo every change made inside the block (tests)."""
    global _mark
    before, bound_before, mark = _declared, _bound, _mark
    try:
        yield
    finally:
        with _changing:
            _mark = mark
            _set(before, bound_before)
