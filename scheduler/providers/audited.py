"""The record ``scheduler.triggered`` of what people and programs trigger, and of every failure to.

A slot that was decided by itself needs no second record: its row in the trigger log carries the same facts.
"""

from __future__ import annotations

import structlog
from django.db import DatabaseError

from jobsplatform.kernel import audit
from jobsplatform.kernel.audit import Actor
from jobsplatform.kernel.instants import text
from scheduler.providers.base import Triggering
from scheduler.requests import ScheduleTriggerRequest, ScheduleTriggerResult

log = structlog.get_logger("jobsplatform.scheduler")

ACTION = "scheduler.triggered"


class AuditedScheduleProvider:
    """Writes the record after the trigger, whatever came of it; an error goes on to the caller."""

    def __init__(self, inner: Triggering, actor: Actor | None = None) -> None:
        self._inner = inner
        self._actor = actor

    def trigger(self, request: ScheduleTriggerRequest) -> ScheduleTriggerResult:
        try:
            result = self._inner.trigger(request)
        except Exception as error:
            self._record(request, None, f"{type(error).__name__}: {error}")
            raise
        if not result.ok or self._by_somebody(request):
            self._record(request, result, "" if result.ok else result.error or result.reason or result.status)
        return result

    def _by_somebody(self, request: ScheduleTriggerRequest) -> bool:
        return self._actor is not None or bool(request.by or request.user_id)

    def _record(
        self, request: ScheduleTriggerRequest, result: ScheduleTriggerResult | None, error: str
    ) -> None:
        actor = self._actor or Actor.system(request.by or request.user_id or "scheduler")
        after = {
            "planned_at": text(request.planned_at) if request.planned_at else None,
            "origin": request.origin,
            "task_id": result.task_id or None if result else None,
            "status": result.status if result else None,
            "replayed": result.replayed if result else False,
            "lock_key": request.lock_key or None,
            "fencing_token": request.fencing_token,
        }
        try:
            audit.record(
                ACTION,
                "schedule",
                request.schedule_id,
                actor=actor,
                after=after,
                error=error,
                tenant_id=request.tenant_id,
            )
        except DatabaseError as failure:
            # The trigger itself has happened, or its own error says more.
            log.error("scheduler.not_audited", text=f"{request.schedule_id}: {failure}")
