"""Job types that nobody has declared in this process yet, though a module of it could.

A worker meets the jobs of a task before it has imported the module of that task: what it cannot name it tries to find,
once. What is not found stays pending, for a newer release that has it.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable

from tasks import registry
from tasks.django_tasks import loading
from tasks.spec import JobHandler

Finder = Callable[[str], JobHandler | None]
FINDERS: tuple[Finder, ...] = (loading.load,)

_noticed: frozenset[str] = frozenset()
_tried: frozenset[str] = frozenset()


def notice(keys: Iterable[str]) -> None:
    """Keep the handler keys of claimable jobs that this process does not know, for ``learn``."""
    global _noticed
    # Types of apps are run by whoever binds them; only the host's own are code of this installation.
    _noticed |= frozenset(key for key in keys if key.startswith(":")) - _tried


def has_noticed() -> bool:
    """Whether there is something to ``learn``."""
    return bool(_noticed)


def learn() -> bool:
    """Look for what was noticed; whether any of it is known now. Imports modules: call it outside transactions."""
    global _noticed
    keys, _noticed = _noticed, frozenset()
    return any([_find(key) is not None for key in sorted(keys)])


def find(app_id: str, job_type: str) -> JobHandler | None:
    """The handler, by the registry or else by looking for it."""
    return registry.find(app_id, job_type) or _find(f"{app_id}:{job_type}")


def _find(key: str) -> JobHandler | None:
    """Looks for each key once: a second look would find the same code."""
    global _tried
    app_id, _, job_type = key.partition(":")
    if app_id or key in _tried:
        return registry.find(app_id, job_type)
    _tried |= {key}
    for finder in FINDERS:
        if (handler := finder(job_type)) is not None:
            return handler
    return None


def forget() -> None:
    """Look anew for everything (tests)."""
    global _noticed, _tried
    _noticed = _tried = frozenset()
