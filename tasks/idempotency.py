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
from tasks.sql import keys as sql
from tasks.sql.keys import Claim, Place
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


def claim(made: Sequence[Draft], keys: Mapping[int, str], now: datetime) -> dict[int, UUID]:
    """Claim the keys for their jobs; returns, by position, the jobs that older (or earlier) requests have made.

    Raises IdempotencyConflict when a key was used for another job type or other params.
    """
    places: dict[int, Place] = {}
    prints: dict[int, str] = {}
    wanted: dict[Place, int] = {}
    for n, given in keys.items():
        key = key_text(given, "idempotency_key")
        if not key:
            raise InvalidInput("idempotency_key: expected some text, got an empty one.")
        draft, columns = made[n], made[n].common.columns
        sent = {name: draft.params[name] for name in draft.sent if name in draft.params}
        prints[n] = fingerprint(columns["job_type"], sent)
        places[n] = (columns["tenant_id"], columns["app_id"], key)
        wanted.setdefault(places[n], n)
    if not wanted:
        return {}
    # In one order, so that two bulk submits of the same keys never wait for each other in a circle.
    claims = {place: (made[n].id, prints[n]) for place, n in sorted(wanted.items())}
    held = {**claims, **_held(claims, now)}
    replayed = {}
    for n, place in places.items():
        job_id, of_whom = held[place]
        if of_whom != prints[n]:
            raise IdempotencyConflict(
                f"Idempotency key {keys[n]!r} has made job {job_id} from another type or other params; "
                "use a new key for new work.",
                job_id=str(job_id),
            )
        if job_id != made[n].id:
            replayed[n] = job_id
    return replayed


def _held(claims: Mapping[Place, Claim], now: datetime) -> dict[Place, Claim]:
    """Claim these keys; of those that were claimed before, by whom. A key whose time is over is claimed anew."""
    taken = set(claims) - sql.claim(claims, now, now + KEEP)
    if not taken:
        return {}
    names = sorted(key for _, _, key in taken)
    IdempotencyKey.objects.filter(key__in=names, expires_at__lte=now).delete()
    taken -= sql.claim({place: claims[place] for place in sorted(taken)}, now, now + KEEP)
    rows = IdempotencyKey.objects.filter(key__in=names)
    found = rows.values_list("tenant_id", "app_id", "key", "job_id", "fingerprint")
    return {
        (tenant, app, key): (owner, mark)
        for tenant, app, key, owner, mark in found
        if (tenant, app, key) in taken
    }
