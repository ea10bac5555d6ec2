"""From a request to a job row, before anything is stored: every value is looked at, or the request is refused."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field, fields
from datetime import UTC, datetime
from operator import attrgetter, is_
from typing import Any
from uuid import UUID

from django.db.models.base import ModelState

from jobsplatform.kernel import config, context
from jobsplatform.kernel.errors import InvalidInput, TenantForbidden
from jobsplatform.kernel.ids import uuid7
from jobsplatform.kernel.models import Tenant
from tasks import registry
from tasks.json_values import check_json, is_small, shown
from tasks.models import KEY_LENGTH, Job
from tasks.params import Schema
from tasks.states import MAX_PRIORITY, Dedupe, Hold, Priority, Role

_CONTROL = re.compile("[\x00-\x1f\x7f\ud800-\udfff]")
ORIGINS = ("live", "catch_up", "backfill", "manual")


@dataclass(frozen=True, slots=True)
class JobRequest:
    """The wish to have a job run. What is None is taken from the handler's declaration.

    ``run_after``: an aware instant. ``tick_interval_ms``: this is a live tick (0: a manual trigger) of an
    exclusive type, to be skipped when an unfinished job of it exists.
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
        year = value.astimezone(UTC).year
    except OverflowError:
        year = 0
    # In the years at the edges an instant has no reading in some time zones.
    if not 1 < year < 9999:
        raise InvalidInput(f"{what}: {value.isoformat()} is not between the years 2 and 9998.")
    return value


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


_BLANK = {
    name: value for name, value in Job().__dict__.items() if name not in ("_state", "id", "params", "data")
}
_wishes = attrgetter(*(f.name for f in fields(JobRequest) if f.name != "params"))


@dataclass(frozen=True, slots=True)
class _Alike:
    """What requests that differ in their params alone come to: the columns they share, and what params decide."""

    schema: Schema
    columns: Mapping[str, Any]
    dedupe_key_of: KeyOf | None
    concurrency_key_of: KeyOf | None
    max_bytes: int


def to_rows(requests: Iterable[JobRequest], now: datetime) -> list[Job]:
    """The job rows of requests, not yet stored.

    Raises UnknownName, ParamsInvalid, InvalidInput, TenantForbidden.
    """
    tenants: TenantStates = {}
    rows: list[Job] = []
    before: tuple[Any, ...] | None = None
    for request in requests:
        wishes = _wishes(request)
        # A bulk's requests mostly hold the very same objects, and what they say is looked at once.
        if before is None or not all(map(is_, wishes, before)):
            alike = _alike(request, now, tenants)
        before = wishes
        rows.append(_row(request, alike))
    return rows


def _row(request: JobRequest, alike: _Alike) -> Job:
    params = alike.schema.normalise(request.params)
    if alike.schema.open_ended or not is_small(params, alike.max_bytes):
        params = check_json(params, what="params", max_bytes=alike.max_bytes)
    # What ``Job(**columns)`` makes, at a tenth of its cost.
    job = Job.__new__(Job)
    columns = job.__dict__
    columns.update(alike.columns, id=uuid7(), params=params, data={}, _state=ModelState())
    if alike.dedupe_key_of is not None:
        key = columns["dedupe_key"] = key_text(alike.dedupe_key_of(params), "dedupe_key")
        columns["role"] = Role.LEADER if key else Role.NONE
    if alike.concurrency_key_of is not None:
        columns["concurrency_key"] = key_text(alike.concurrency_key_of(params), "concurrency_key")
    return job


def _alike(request: JobRequest, now: datetime, tenants: TenantStates) -> _Alike:
    settings = config.get().tasks
    handler = registry.get(request.app_id, request.job_type)
    spec = handler.spec
    here = context.current()
    tenant_id = text(here.tenant_id if request.tenant_id is None else request.tenant_id, "tenant_id", 100)
    hold = gate_tenant(tenant_id, tenants)
    run_after = instant(request.run_after, "run_after")
    due_at = max(run_after, now) if run_after else now
    if hold is Hold.NONE and due_at > now:
        hold = Hold.LATER
    dedupe_key = "" if request.dedupe_key is None else key_text(request.dedupe_key, "dedupe_key")
    concurrency_key = request.concurrency_key
    columns = dict(
        _BLANK,
        app_id=spec.app_id,
        job_type=spec.job_type,
        handler_key=spec.key,
        queue=text(request.queue, "queue", 100) if request.queue else spec.queue,
        priority=read_priority(request.priority, spec.priority),
        hold=hold,
        reason="tenant suspended" if hold is Hold.TENANT else "",
        created_at=now,
        updated_at=now,
        run_after=run_after,
        due_at=due_at,
        max_attempts=_attempts(request.max_attempts, spec.max_attempts or settings.max_attempts),
        concurrency_key="" if concurrency_key is None else key_text(concurrency_key, "concurrency_key"),
        concurrency_limit=spec.concurrency_limit,
        exclusive=spec.exclusive,
        dedupe_key=dedupe_key,
        dedupe=_dedupe(request.dedupe or spec.dedupe),
        role=Role.LEADER if dedupe_key else Role.NONE,
        user_id=text(request.user_id or here.user_id or "", "user_id", 100),
        tenant_id=tenant_id,
        request_id=here.request_id,
        traceparent=here.traceparent,
        parent_id=parent_of(request.parent_id),
        child_key=text(request.child_key, "child_key", KEY_LENGTH),
        schedule_id=text(request.schedule_id, "schedule_id", 200),
        origin=_origin(request.origin),
        planned_at=instant(request.planned_at, "planned_at"),
        window_start=instant(request.window_start, "window_start"),
        force=_flag(request.force),
    )
    return _Alike(
        schema=handler.schema,
        columns=columns,
        dedupe_key_of=spec.dedupe_key_of if request.dedupe_key is None and spec.dedupe_key else None,
        concurrency_key_of=spec.concurrency_key_of
        if concurrency_key is None and spec.concurrency_key
        else None,
        max_bytes=settings.params_max_bytes,
    )


def _attempts(given: int | None, default: int) -> int:
    if given is None:
        return default
    if isinstance(given, bool) or not isinstance(given, int) or not 1 <= given <= 1000:
        raise InvalidInput(f"max_attempts: expected a number from 1 to 1000, got {shown(given)}.")
    return given


def _flag(value: object) -> bool:
    if not isinstance(value, bool):
        raise InvalidInput(f"force: expected true or false, got {shown(value)}.")
    return value


def _dedupe(value: str) -> Dedupe:
    if isinstance(value, Dedupe):
        return value
    if value not in list(Dedupe):
        raise InvalidInput(f"dedupe: expected one of {', '.join(Dedupe)}, got {shown(value)}.")
    return Dedupe(value)


def _origin(value: str) -> str:
    if value not in ORIGINS:
        raise InvalidInput(f"origin: expected one of {', '.join(ORIGINS)}, got {shown(value)}.")
    return value
