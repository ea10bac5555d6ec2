"""``core.scheduler.trigger``: the one Celery task of schedules. Its message is a hint; the stored state decides.

Beats send it, ours and others' (``scheduler.export``). An early, late, repeated or forged one decides nothing: it
makes somebody look whether a slot is due.
"""

from __future__ import annotations

from typing import Any

import structlog
from celery import Task, shared_task
from django.db import DatabaseError

from jobsplatform.kernel import clock, context, db
from scheduler import planner
from scheduler.models import NAME_LENGTH

log = structlog.get_logger("jobsplatform.scheduler")

TASK_NAME = "core.scheduler.trigger"

MOST_ROUNDS = 10_000
"""A hint does not keep a slot of a worker for ever, however many slots are due; the next one goes on."""

NAMES = ("schedule_id", "tenant_id", "request_id_prefix")
PREFIX_LENGTH = 40


@shared_task(bind=True, name=TASK_NAME, ignore_result=True, acks_late=False, typing=False, max_retries=0)
def trigger(self: Task, *args: Any, **kwargs: Any) -> int | None:
    """Plan what is due: first of the schedule ``schedule_id`` (for ``tenant_id``, or for every tenant), then of all.

    ``request_id_prefix`` begins the request id of the log lines. The number of jobs that were made; None when the
    message made no sense or the database was away (the slots stay due, and somebody looks again).
    """
    if args or not _makes_sense(kwargs):
        log.warning("scheduler.hint_refused", text="a hint that names no schedule was dropped")
        return None
    if not self.request.is_eager:
        db.close_stale()
    schedule_id, tenant_id = kwargs.get("schedule_id") or "", kwargs.get("tenant_id") or ""
    prefix = kwargs.get("request_id_prefix") or ""
    with context.fresh(
        method="SCHEDULER",
        route=f"scheduler:{schedule_id}" if schedule_id else "scheduler",
        request_id=context.sane_request_id(f"{prefix[:PREFIX_LENGTH]}{context.new_request_id()}"),
    ):
        try:
            return plan(schedule_id, tenant_id, instance=f"hint@{self.request.hostname or 'here'}")
        except DatabaseError as error:
            db.close_broken()
            log.warning("scheduler.hint_lost", text=f"the database does not answer: {db.first_line(error)}")
            return None


def plan(schedule_id: str, tenant_id: str, *, instance: str) -> int:
    """Rounds of the planner until nothing is due; the number of jobs that were made."""
    clock.current().sync()
    named = _rounds(instance, (schedule_id, tenant_id or None)) if schedule_id else 0
    # What others need is seldom said: a slot may have come while nobody could plan.
    return named + _rounds(instance, None)


def _rounds(instance: str, only: planner.Only | None) -> int:
    triggered = 0
    for _ in range(MOST_ROUNDS):
        result = planner.step(clock.now(), instance=instance, only=only)
        triggered += result.triggered
        if not result.more:
            break
    return triggered


def _makes_sense(kwargs: dict[str, Any]) -> bool:
    """Names that we know, each with a text that could be one."""
    return all(
        name in NAMES and (value is None or (isinstance(value, str) and len(value) <= NAME_LENGTH))
        for name, value in kwargs.items()
    )
