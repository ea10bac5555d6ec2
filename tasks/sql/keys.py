"""Idempotency keys, claimed many at a time."""

from __future__ import annotations

import json
from collections.abc import Mapping
from datetime import datetime
from uuid import UUID

from django.db import connection

from jobsplatform.kernel.db import is_postgres
from tasks.models import IdempotencyKey
from tasks.sql.values import time_in, uuid_in

Place = tuple[str, str, str]
"""Tenant, app and key."""

Claim = tuple[UUID, str]
"""The job that a key makes, and the fingerprint of what was asked for."""

_TABLE = IdempotencyKey._meta.db_table
_COLUMNS = "tenant_id, app_id, key, job_id, fingerprint, created_at, expires_at"
_FRESH = "ON CONFLICT (tenant_id, app_id, key) DO NOTHING"
_GIVEN = ("tenant_id", "app_id", "key", "job_id", "fingerprint")
_encode = json.JSONEncoder(default=str).encode


def claim(claims: Mapping[Place, Claim], now: datetime, until: datetime) -> set[Place]:
    """Claim these keys, in the order given; those that nobody had. Never breaks the caller's transaction."""
    with connection.cursor() as cursor:
        if is_postgres():
            rows = [dict(zip(_GIVEN, (*place, *its), strict=True)) for place, its in claims.items()]
            cursor.execute(
                f"""INSERT INTO {_TABLE} ({_COLUMNS})
                SELECT v.tenant_id, v.app_id, v.key, v.job_id, v.fingerprint, %s, %s FROM json_to_recordset(%s::json)
                    AS v(tenant_id text, app_id text, key text, job_id uuid, fingerprint text)
                {_FRESH} RETURNING tenant_id, app_id, key""",
                [now, until, _encode(rows)],
            )
            return set(cursor.fetchall())
        cursor.executemany(
            f"INSERT INTO {_TABLE} ({_COLUMNS}) VALUES (%s, %s, %s, %s, %s, %s, %s) {_FRESH}",
            [
                [*place, uuid_in(job_id), fingerprint, time_in(now), time_in(until)]
                for place, (job_id, fingerprint) in claims.items()
            ],
        )
        if cursor.rowcount == len(claims):
            return set(claims)
    rows = IdempotencyKey.objects.filter(key__in=sorted({key for _, _, key in claims}))
    owners = {(row.tenant_id, row.app_id, row.key): row.job_id for row in rows}
    return {place for place, (job_id, _) in claims.items() if owners.get(place) == job_id}
