"""The wish to have a job run, and what each of its fields may be: looked at, or the request is refused."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import Any
from uuid import UUID

from jobsplatform.kernel.errors import InvalidInput, TenantForbidden
from jobsplatform.kernel.models import Tenant
from tasks.json_values import shown
from tasks.models import KEY_LENGTH, OVERLAP_KEY_LENGTH
from tasks.states import MAX_PRIORITY, Dedupe, Hold, Overlap, Priority

_CONTROL = re.compile("[\x00-\x1f\x7f\ud800-\udfff]")
ORIGINS = ("live", "catch_up", "backfill", "manual")


@dataclass(frozen=True, slots=True)
class JobRequest:
    """The wish to have a job run. What is None is taken from the handler's declaration.

    ``run_after``: an aware instant. ``tick_interval_ms``: this is a live tick (0: a manual trigger) of an
    exclusive type, to be skipped when an unfinished job of it exists; an ``overlap`` comes before that.
    ``overlap``: what becomes of the job when it may start and another of its ``overlap_key`` is unfinished, one of
    skip, buffer_one, buffer_all, cancel_other, allow. ``latest_start_at``: an aware instant; a job whose first run
    has not begun by then is cancelled. ``data``: what the job's changeable part begins with.
    """

    job_type: str
    params: Mapping[str, Any] = field(default_factory=dict)
    app_id: str = ""
    run_after: datetime | None = None
    priority: int | str | None = None
    queue: str | None = None
    dedupe_key: str | None = None
    dedupe: str | None = None
    idempotency_key: str | None = None
    concurrency_key: str | None = None
    user_id: str = ""
    tenant_id: str | None = None
    parent_id: UUID | None = None
    child_key: str = ""
    max_attempts: int | None = None
    origin: str = "live"
    schedule_id: str = ""
    planned_at: datetime | None = None
    window_start: datetime | None = None
    force: bool = False
    tick_interval_ms: int | None = None
    overlap: str = ""
    overlap_key: str = ""
    latest_start_at: datetime | None = None
    data: Mapping[str, Any] | None = None


def text(value: object, what: str, limit: int) -> str:
    """``value`` as a one-line name of at most ``limit`` characters. Raises InvalidInput."""
    if value == "":
        return ""
    if not isinstance(value, str):
        raise InvalidInput(f"{what}: expected text, got {type(value).__name__}.")
    if len(value) > limit:
        raise InvalidInput(f"{what}: at most {limit} characters, got {len(value)}. Nothing is cut silently.")
    if _CONTROL.search(value):
        raise InvalidInput(f"{what}: control characters and lone surrogates cannot be stored.")
    return value


def key_text(value: object, what: str) -> str:
    """A key: composed and decomposed spellings of one text are the same key (Unicode NFC)."""
    return unicodedata.normalize("NFC", text(value, what, KEY_LENGTH))


def read_priority(value: int | str | None, default: int) -> int:
    """A priority from a number or a name, as BACKGROUND or user_action. Raises InvalidInput; never clamps."""
    if value is None:
        return int(default)
    if isinstance(value, str):
        name = value.strip().upper().replace("-", "_")
        if name in Priority.__members__:
            return int(Priority[name])
        known = ", ".join(p.name for p in Priority)
        raise InvalidInput(
            f"priority: expected a number from 0 to {MAX_PRIORITY} or one of {known}, got {shown(value)}."
        )
    if isinstance(value, bool) or not isinstance(value, int) or not 0 <= value <= MAX_PRIORITY:
        raise InvalidInput(f"priority: expected a number from 0 to {MAX_PRIORITY}, got {shown(value)}.")
    return int(value)


def instant(value: object, what: str) -> datetime | None:
    """An aware instant or None. Raises InvalidInput."""
    if value is None:
        return None
    if not isinstance(value, datetime):
        raise InvalidInput(f"{what}: expected a datetime, got {type(value).__name__}.")
    if value.tzinfo is None or value.utcoffset() is None:
        raise InvalidInput(f"{what}: expected an aware datetime (with a time zone), got {value.isoformat()}.")
    try:
        in_utc = value.astimezone(UTC)
    except OverflowError:
        in_utc = datetime.min.replace(tzinfo=UTC)
    # In the years at the edges an instant has no reading in some time zones.
    if not 1 < in_utc.year < 9999:
        raise InvalidInput(f"{what}: {value.isoformat()} is not between the years 2 and 9998.")
    return in_utc  # PostgreSQL refuses displacements that Python knows


def parent_of(value: object) -> UUID | None:
    """The id of a parent job or None. Raises InvalidInput."""
    if value is None or isinstance(value, UUID):
        return value
    try:
        return UUID(str(value) if isinstance(value, str) else "")
    except ValueError:
        raise InvalidInput(f"parent_id: expected the id of a job, got {shown(value)}.") from None


TenantStates = dict[str, str | None]
KeyOf = Callable[[Mapping[str, Any]], str]


def gate_tenant(tenant_id: str, known: TenantStates) -> Hold:
    """Whether jobs of this tenant may be made. Raises TenantForbidden for an archived one.

    ``known`` keeps the states that one submission has read, so that a bulk reads each tenant once.
    """
    if not tenant_id:
        return Hold.NONE
    if tenant_id not in known:
        known[tenant_id] = Tenant.objects.filter(tenant_id=tenant_id).values_list("state", flat=True).first()
    state = known[tenant_id]
    if state == Tenant.State.ARCHIVED:
        raise TenantForbidden(
            f"Tenant {tenant_id!r} is archived: no job is made for it.", tenant_id=tenant_id
        )
    return Hold.TENANT if state == Tenant.State.SUSPENDED else Hold.NONE


def attempts(given: int | None, default: int) -> int:
    """How often a job may run. Raises InvalidInput."""
    if given is None:
        return default
    if isinstance(given, bool) or not isinstance(given, int) or not 1 <= given <= 1000:
        raise InvalidInput(f"max_attempts: expected a number from 1 to 1000, got {shown(given)}.")
    return given


def flag(value: object) -> bool:
    """The value of ``force``. Raises InvalidInput."""
    if not isinstance(value, bool):
        raise InvalidInput(f"force: expected true or false, got {shown(value)}.")
    return value


def dedupe_mode(value: str) -> Dedupe:
    """What becomes of a second job of a key. Raises InvalidInput."""
    if isinstance(value, Dedupe):
        return value
    if value not in list(Dedupe):
        raise InvalidInput(f"dedupe: expected one of {', '.join(Dedupe)}, got {shown(value)}.")
    return Dedupe(value)


def overlap_of(value: str, key: str, parent_id: object) -> tuple[Overlap, str]:
    """A policy and the key that it is about; neither goes without the other. Raises InvalidInput."""
    if value == "" and key == "":
        return Overlap.NONE, ""
    known = [str(policy) for policy in Overlap if policy]
    if value not in known:
        raise InvalidInput(f"overlap: expected one of {', '.join(known)}, got {shown(value)}.")
    name = unicodedata.normalize("NFC", text(key, "overlap_key", OVERLAP_KEY_LENGTH))
    if not name:
        raise InvalidInput("overlap_key: say which jobs must not overlap; overlap needs a key.")
    if parent_id is not None:
        raise InvalidInput("overlap: a child starts when its parent says so; give the policy to the parent.")
    return Overlap(value), name


def origin_of(value: str) -> str:
    """Where a job comes from, one of ORIGINS. Raises InvalidInput."""
    if value not in ORIGINS:
        raise InvalidInput(f"origin: expected one of {', '.join(ORIGINS)}, got {shown(value)}.")
    return value
