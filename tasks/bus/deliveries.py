"""A run that has begun, as it goes to whoever does it."""

from __future__ import annotations

from datetime import datetime
from typing import Any
from uuid import UUID

from pydantic_core import to_json

from tasks import family, registry
from tasks.bus.proxy import BusProxyHandler
from tasks.grace import grace_of
from tasks.models import Job
from tasks.output import iso, job_output

MOST_CHILDREN_BYTES = 8 * 2**20
SHORT_ERROR = 200
"""Characters of an error that are told beyond."""


def delivery(job: Job, now: datetime) -> dict[str, Any]:
    """One run, as a claim gives it."""
    handler = registry.find(job.app_id, job.job_type)
    return {
        "job": job_output(job, now=now),
        "lease": job.lease,
        "cursor": job.checkpoint,
        "attempt": job.attempt,
        "run_reason": "retry" if job.failures else job.origin,
        "force": job.force,
        "planned_at": iso(job.planned_at),
        "window_start": iso(job.window_start),
        "continuing": job.continuing,
        "children": _children(job.id) if job.continuing else [],
        "deadline_at": iso(job.deadline_at),
        "cancel_grace_seconds": grace_of(job),
        "method": handler.method if isinstance(handler, BusProxyHandler) else job.job_type,
    }


def delivery_of(job: Job, handler: BusProxyHandler, now: datetime) -> dict[str, Any]:
    """The same, as the platform brings it by itself: with who called, and for which service."""
    caller = {
        "app_id": job.app_id,
        "service": handler.service,
        "method": handler.method,
        "user_id": job.user_id,
        "tenant_id": job.tenant_id,
        "request_id": job.request_id,
        "traceparent": job.traceparent,
    }
    return {**delivery(job, now), "caller": caller}


def _children(job_id: UUID) -> list[dict[str, Any]]:
    """How each ended, oldest first; once they are large in all, the rest without what makes them so."""
    children, size = [], 0
    for child in family.each_result(job_id):
        told = {
            "key": child["child_key"],
            "id": str(child["id"]),
            "state": child["state"],
            "result": child["result"],
            "error": child["error"],
            "data": child["data"],
        }
        size += len(to_json(told))
        if size > MOST_CHILDREN_BYTES:
            told = {**told, "result": None, "error": told["error"][:SHORT_ERROR], "data": {}}
        children.append(told)
    return children
