"""A lock around one trigger. It keeps rivals quiet; that a slot is decided once is the database's doing."""

from __future__ import annotations

import random
import threading
from dataclasses import replace

import structlog

from jobsplatform.kernel import clock, config
from jobsplatform.kernel.errors import LockUnavailable
from jobsplatform.kernel.instants import text
from jobsplatform.kernel.locks import Lease, LockProvider, get_provider
from scheduler.providers.base import Triggering
from scheduler.requests import ScheduleTriggerRequest, ScheduleTriggerResult
from scheduler.turns import UNKNOWN_SECONDS

log = structlog.get_logger("jobsplatform.scheduler")

HELD = "held elsewhere"


def lock_key(request: ScheduleTriggerRequest) -> str:
    """The lock of one slot, or of one run without a slot."""
    slot = text(request.planned_at) if request.planned_at else request.origin
    return f"scheduler:trigger:{request.schedule_id}:{request.tenant_id}:{slot}"


class LockedScheduleProvider:
    """Held elsewhere: nothing is done, and the result says so (``ok`` is False, ``reason`` "held elsewhere").

    When the store of locks is away, that is neither held nor free: a moment later, so that a healthy holder goes
    first, the trigger goes on without a lock, by the database's proof.
    """

    def __init__(self, inner: Triggering, locks: LockProvider | None = None) -> None:
        self._inner = inner
        self._given = locks

    def trigger(self, request: ScheduleTriggerRequest) -> ScheduleTriggerResult:
        locks, key = self._given or get_provider(), lock_key(request)
        try:
            lease = locks.acquire(key, config.get().scheduler.lock_ttl_seconds, request.by)
        except LockUnavailable as error:
            log.warning("scheduler.lock", text=f"{key} is triggered without its lock: {error}")
            threading.Event().wait(random.uniform(*UNKNOWN_SECONDS))
            return self._inner.trigger(request)
        if lease is None:
            return _held(request)
        try:
            return self._inner.trigger(replace(request, lock_key=key, fencing_token=lease.fence))
        finally:
            _give_back(locks, lease)


def _held(request: ScheduleTriggerRequest) -> ScheduleTriggerResult:
    return ScheduleTriggerResult(
        ok=False,
        schedule_id=request.schedule_id,
        tenant_id=request.tenant_id,
        task_id="",
        task_type="",
        status="",
        planned_at=request.planned_at,
        triggered_at=clock.now(),
        reason=HELD,
    )


def _give_back(locks: LockProvider, lease: Lease) -> None:
    try:
        locks.release(lease)
    except LockUnavailable as error:
        log.warning("scheduler.lock", text=f"{lease.key} was not given back, it runs out: {error}")
