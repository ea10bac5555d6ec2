"""One shape of a job for every door: command line, bus, events and SDKs."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import UTC, datetime
from typing import Any

from tasks import progress, registry
from tasks.models import Job
from tasks.queries import shown_job
from tasks.states import Role


def iso(instant: datetime | None) -> str | None:
    """An instant in UTC, ISO 8601 with a Z."""
    return None if instant is None else instant.astimezone(UTC).isoformat().replace("+00:00", "Z")


def job_output(job: Job, *, payload: bool = True, now: datetime | None = None) -> dict[str, Any]:
    """The job as a JSON object. Instants are in UTC, ids are strings.

    ``payload`` False: of params, data and result only what the type's ``public_params`` names. An alias shows
    its leader's status, progress, result and error. ``now`` serves the estimate of the time left.
    """
    shown = shown_job(job)
    public = () if payload else _public(job)
    return {
        "id": str(job.id),
        "app_id": job.app_id,
        "job_type": job.job_type,
        "status": shown.state,
        "reason": job.reason or shown.reason,
        "cause": shown.cause,
        "attempt": shown.attempt,
        "lease": shown.lease,
        "priority": job.priority,
        "queue": job.queue,
        "user_id": job.user_id,
        "tenant_id": job.tenant_id,
        "params": job.params if payload else _only(job.params, public),
        "data": shown.data if payload else _only(shown.data, public),
        "progress": progress.of(shown, now),
        "result": shown.result if payload else _only(shown.result, public) or None,
        "error": {"type": shown.error_type, "message": shown.error}
        if shown.error or shown.error_type
        else None,
        "parent_id": _id(job.parent_id),
        "alias_job_id": _id(job.leader_id) if job.role == Role.ALIAS else None,
        "dedupe_key": job.dedupe_key or None,
        "schedule_id": job.schedule_id or None,
        "planned_at": iso(job.planned_at),
        "run_after": iso(job.run_after),
        "created_at": iso(job.created_at),
        "started_at": iso(shown.started_at),
        "finished_at": iso(shown.finished_at),
    }


def _id(value: object) -> str | None:
    return None if value is None else str(value)


def _public(job: Job) -> tuple[str, ...]:
    handler = registry.find(job.app_id, job.job_type)
    return tuple(handler.spec.public_params) if handler is not None else ()


def _only(value: Any, names: tuple[str, ...]) -> dict[str, Any]:
    return {name: value[name] for name in names if name in value} if isinstance(value, Mapping) else {}
