"""Who ticks: our own loop, Celery's beat, or APScheduler. Each plans from the same rows."""

from __future__ import annotations

from jobsplatform.kernel import config
from jobsplatform.kernel.audit import Actor
from jobsplatform.kernel.errors import InvalidInput, did_you_mean
from scheduler.providers.apscheduler import ApSchedulerScheduleProvider
from scheduler.providers.audited import AuditedScheduleProvider
from scheduler.providers.base import RunReport, ScheduleProvider, Triggering
from scheduler.providers.celery_beat import CeleryBeatScheduleProvider
from scheduler.providers.local import LocalScheduleProvider
from scheduler.providers.locked import LockedScheduleProvider
from scheduler.providers.manual import ManualScheduleProvider

__all__ = [
    "ApSchedulerScheduleProvider",
    "AuditedScheduleProvider",
    "CeleryBeatScheduleProvider",
    "LocalScheduleProvider",
    "LockedScheduleProvider",
    "ManualScheduleProvider",
    "RunReport",
    "ScheduleProvider",
    "Triggering",
    "chain",
    "get_provider",
]

_PROVIDERS: dict[
    str, type[LocalScheduleProvider | CeleryBeatScheduleProvider | ApSchedulerScheduleProvider]
] = {
    "local": LocalScheduleProvider,
    "celery_beat": CeleryBeatScheduleProvider,
    "apscheduler": ApSchedulerScheduleProvider,
}


def chain(actor: Actor | None = None) -> Triggering:
    """How a slot is triggered from outside the planner: under its lock, with a record in the name of ``actor``."""
    return LockedScheduleProvider(AuditedScheduleProvider(ManualScheduleProvider(), actor))


def get_provider(name: str = "", actor: Actor | None = None) -> ScheduleProvider:
    """The provider of this name; without one, that of ``SCHEDULER__PROVIDER``. ``actor``: in whose name it triggers
    single slots.

    Raises InvalidInput for a name that is none, and for ``apscheduler`` without that package.
    """
    wanted = name or config.get().scheduler.provider
    if wanted == ManualScheduleProvider.name:
        return ManualScheduleProvider()
    if wanted not in _PROVIDERS:
        raise InvalidInput(
            f"Unknown schedule provider {wanted!r}.{did_you_mean(wanted, _PROVIDERS)} "
            f"Known: {', '.join(sorted(_PROVIDERS))}."
        )
    return _PROVIDERS[wanted](chain(actor))
