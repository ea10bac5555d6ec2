"""Idempotency keys: the same key gives the same job back; the same key for something else is an error.

A key counts within its tenant and app, and outlives its job: it is kept for ``KEEP`` whatever the retention.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import datetime, timedelta
from uuid import UUID

from jobsplatform.kernel.errors import IdempotencyConflict, InvalidInput
from tasks.drafts import Draft
from tasks.json_values import fingerprint
from tasks.models import IdempotencyKey, Job
from tasks.requests import key_text
from tasks.states import ACTIVE

KEEP = timedelta(days=30)


def take_back(like: Job, key: str) -> UUID | None:
    """The active job that this key has made, in the tenant and app of ``like``; else the key may be used again."""
    rows = IdempotencyKey.objects.filter(tenant_id=like.tenant_id, app_id=like.app_id, key=key)
    made = rows.values_list("job_id", flat=True).first()
    if made is not None and Job.objects.filter(id=made, state__in=sorted(ACTIVE)).exists():
        return made
    rows.delete()
    return None


def claim(
    made: Sequence[Draft], rows: Sequence[Job], keys: Mapping[int, str], now: datetime
) -> dict[int, UUID]:
    """Claim the keys for their rows; returns, by position, the jobs that older (or earlier) requests have made.

    Raises IdempotencyConflict when a key was used for another job type or other params.
    """
    wanted: dict[tuple[str, str, str], int] = {}
    prints = {}
    for n, given in keys.items():
        key = key_text(given, "idempotency_key")
        if not key:
            raise InvalidInput("idempotency_key: expected some text, got an empty one.")
        sent = {name: rows[n].params[name] for name in made[n].sent if name in rows[n].params}
        prints[n] = fingerprint(rows[n].job_type, sent)
        wanted.setdefault((rows[n].tenant_id, rows[n].app_id, key), n)
    fresh = [
        IdempotencyKey(
            tenant_id=tenant,
            app_id=app,
            key=key,
            job_id=rows[n].id,
            fingerprint=prints[n],
            created_at=now,
            expires_at=now + KEEP,
        )
        for (tenant, app, key), n in sorted(wanted.items())
    ]
    names = [row.key for row in fresh]
    if not fresh:
        return {}
    IdempotencyKey.objects.filter(key__in=names, expires_at__lte=now).delete()
    IdempotencyKey.objects.bulk_create(fresh, ignore_conflicts=True)
    held = {(k.tenant_id, k.app_id, k.key): k for k in IdempotencyKey.objects.filter(key__in=names)}
    replayed = {}
    for n, given in keys.items():
        owner = held[rows[n].tenant_id, rows[n].app_id, key_text(given, "idempotency_key")]
        if owner.fingerprint != prints[n]:
            raise IdempotencyConflict(
                f"Idempotency key {given!r} has made job {owner.job_id} from another type or other params; "
                "use a new key for new work.",
                job_id=str(owner.job_id),
            )
        if owner.job_id != rows[n].id:
            replayed[n] = owner.job_id
    return replayed
