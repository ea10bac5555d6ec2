"""Work that the platform does not run, and events that apps tell: stored, told to pages, forgotten in time."""

from __future__ import annotations

from dataclasses import dataclass, fields
from datetime import datetime, timedelta
from typing import Any

from django.db import transaction
from django.db.models import Model

from jobsplatform.kernel import audit, config, events
from jobsplatform.kernel.audit import Actor
from jobsplatform.kernel.errors import IllegalMove, JobNotFound
from tasks.events import AppEventTold, ExternalJobChanged
from tasks.json_values import check_json
from tasks.models import AppEvent, ExternalJob
from tasks.output import iso

ENDED = frozenset({ExternalJob.Status.COMPLETED, ExternalJob.Status.FAILED, ExternalJob.Status.CANCELLED})


@dataclass(frozen=True, slots=True)
class Snapshot:
    """What is told of a piece of work; None says nothing. ``progress`` in percent, ``eta_seconds`` from now."""

    title: str | None = None
    status: str | None = None
    progress: float | None = None
    eta_seconds: float | None = None
    message: str | None = None
    user_id: str | None = None

    def told(self) -> dict[str, Any]:
        """The fields that say something."""
        return {f.name: value for f in fields(self) if (value := getattr(self, f.name)) is not None}


def upsert(app_id: str, job_id: str, told: Snapshot, *, actor: Actor, now: datetime) -> ExternalJob:
    """Make the row of this app's ``job_id``, or change what is told. Raises IllegalMove when it has ended."""
    with transaction.atomic():
        row = _locked(app_id, job_id)
        if row is None:
            fresh = ExternalJob(
                app_id=app_id, job_id=job_id, created_at=now, updated_at=now, expires_at=_expiry(now)
            )
            _apply(fresh, told, now)
            ExternalJob.objects.bulk_create([fresh], ignore_conflicts=True)
            row = _locked(app_id, job_id)
            assert row is not None, "it is there by now, whoever made it"
            before = str(row.status) if row.revision else None
        else:
            before = str(row.status)
        return _write(row, told, before, actor, now)


def update(app_id: str, job_id: str, told: Snapshot, *, now: datetime) -> ExternalJob:
    """Change what is told. Raises JobNotFound, IllegalMove when it has ended. Not audited: the row says it all."""
    with transaction.atomic():
        row = _known(app_id, job_id)
        return _write(row, told, str(row.status), None, now)


def complete(app_id: str, job_id: str, told: Snapshot, *, actor: Actor, now: datetime) -> ExternalJob:
    """It has ended, as ``told.status`` says. Raises JobNotFound, IllegalMove when it had ended before."""
    with transaction.atomic():
        row = _known(app_id, job_id)
        return _write(row, told, str(row.status), actor, now)


def _locked(app_id: str, job_id: str) -> ExternalJob | None:
    return ExternalJob.objects.select_for_update().filter(app_id=app_id, job_id=job_id).first()


def _known(app_id: str, job_id: str) -> ExternalJob:
    row = _locked(app_id, job_id)
    if row is None:
        raise JobNotFound(job_id)
    return row


def _write(
    row: ExternalJob, told: Snapshot, before: str | None, actor: Actor | None, now: datetime
) -> ExternalJob:
    if before in ENDED:
        raise IllegalMove(f"The work is {before} already, and stays so.", job_id=row.job_id, state=before)
    _apply(row, told, now)
    row.revision += 1
    row.updated_at, row.expires_at = now, _expiry(now)
    row.save()
    if actor is not None and before != row.status:
        audit.record(
            "external.upsert" if row.status not in ENDED else "external.complete",
            "external_job",
            row.job_id,
            actor=actor,
            before={"status": before} if before else None,
            after={"status": row.status},
            at=now,
        )
    events.emit(ExternalJobChanged(row.pk, row.app_id, row.user_id))
    return row


def _apply(row: ExternalJob, told: Snapshot, now: datetime) -> None:
    for name, value in told.told().items():
        setattr(row, name, value)
    if row.status in ENDED:
        row.finished_at, row.eta_seconds = now, None
        if row.status == ExternalJob.Status.COMPLETED:
            row.progress = 100.0


def _expiry(now: datetime) -> datetime:
    return now + timedelta(days=config.get().bus.external_kept_days)


def output(row: ExternalJob) -> dict[str, Any]:
    """It as a JSON object; instants are in UTC."""
    return {
        "job_id": row.job_id,
        "app_id": row.app_id,
        "title": row.title,
        "status": str(row.status),
        "progress": row.progress,
        "eta_seconds": row.eta_seconds,
        "message": row.message,
        "user_id": row.user_id,
        "revision": row.revision,
        "created_at": iso(row.created_at),
        "updated_at": iso(row.updated_at),
        "finished_at": iso(row.finished_at),
        "expires_at": iso(row.expires_at),
    }


def tell(
    app_id: str, user_id: str, kind: str, *, scope: str = "", payload: Any = None, actor: Actor, now: datetime
) -> AppEvent:
    """Keep an event for one user, and tell it. Raises ParamsInvalid, ParamsTooLarge for its payload."""
    limit = config.get().tasks.params_max_bytes
    clean = check_json(payload, what="payload", max_bytes=limit)
    with transaction.atomic():
        made = AppEvent.objects.create(
            app_id=app_id, user_id=user_id, kind=kind, scope=scope, payload=clean, created_at=now
        )
        after = {"user_id": user_id, "kind": kind, "scope": scope}
        audit.record("event.emit", "app_event", made.pk, actor=actor, after=after, at=now)
        events.emit(AppEventTold(made.pk, app_id, user_id, kind))
    return made


def prune(now: datetime, batch: int) -> int:
    """Remove at most ``batch`` rows of each kind that have had their time; how many went."""
    kept_since = now - timedelta(days=config.get().bus.events_kept_days)
    expired = ExternalJob.objects.filter(expires_at__lte=now).order_by("expires_at")
    old = AppEvent.objects.filter(created_at__lte=kept_since).order_by("created_at")
    return _remove(ExternalJob, expired, batch) + _remove(AppEvent, old, batch)


def _remove(model: type[Model], rows: Any, batch: int) -> int:
    ids = list(rows.values_list("pk", flat=True)[:batch])
    return int(model._default_manager.filter(pk__in=ids)._raw_delete("default") or 0) if ids else 0
