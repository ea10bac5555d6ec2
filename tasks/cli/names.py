"""Names of apps, job types and queues that a person typed, held against what is known.

Known is what code registers, what the configuration names, what live processes serve, and what rows carry.
"""

from __future__ import annotations

from collections.abc import Iterable
from datetime import datetime

from jobsplatform.kernel import config, processes
from jobsplatform.kernel.errors import UnknownName
from jobsplatform.kernel.models import App
from tasks import registry
from tasks.models import Job

shown = registry.shown


def split(name: str) -> tuple[str, str]:
    """``app:type`` or ``type`` as (app_id, job_type)."""
    app_id, colon, job_type = name.partition(":")
    return (app_id, job_type) if colon else ("", name)


def handler_keys(now: datetime) -> set[str]:
    """Keys registered here or known to a live process."""
    return set(registry.keys()) | {key for process in _live(now) for key in process.handlers}


def job_type(name: str, app_id: str | None, now: datetime) -> str:
    """The handler key that ``name`` (and ``--app``) means. Raises UnknownName with the nearest."""
    own_app, bare = split(name)
    key = f"{app_id if app_id is not None and ':' not in name else own_app}:{bare}"
    known = handler_keys(now)
    if key in known or Job.objects.filter(handler_key=key).exists():
        return key
    raise UnknownName("job type", shown(key), _spellings(known))


def app(app_id: str, now: datetime) -> str:
    """An app that owns a handler, a job, or a row of its own."""
    known = {split(key)[0] for key in handler_keys(now)} | set(App.objects.values_list("app_id", flat=True))
    known.discard("")
    if app_id in known or not app_id or Job.objects.filter(app_id=app_id).exists():
        return app_id
    raise UnknownName("app", app_id, known)


def queue(name: str, now: datetime) -> str:
    """A queue that the configuration, a handler, a live process or a job names."""
    known = queues(now)
    if name in known or Job.objects.filter(queue=name).exists():
        return name
    raise UnknownName("queue", name, known)


def queues(now: datetime) -> set[str]:
    """All queues that something would put jobs in or takes them from."""
    served = {queue for process in _live(now) for queue in process.queues}
    return served | set(config.get().tasks.queues) | {handler.spec.queue for handler in registry.all()}


def _spellings(keys: Iterable[str]) -> set[str]:
    return {shown(key) for key in keys}


def _live(now: datetime) -> list[processes.Process]:
    return list(processes.live(now, config.get().tasks.lease_seconds))
