"""From requests to jobs that are not stored yet.

The requests of a bulk mostly differ in their params alone: what they share is looked at once and kept once, and a
job's own part stays small.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, fields
from datetime import datetime
from operator import attrgetter, is_
from typing import Any
from uuid import UUID

from django.db.models.base import ModelState

from jobsplatform.kernel import config, context
from jobsplatform.kernel.errors import InvalidInput
from jobsplatform.kernel.ids import uuid7
from tasks import registry
from tasks.json_values import check_json, is_small
from tasks.models import KEY_LENGTH, Job
from tasks.params import Schema
from tasks.requests import (
    JobRequest,
    TenantStates,
    attempts,
    dedupe_mode,
    flag,
    gate_tenant,
    instant,
    key_text,
    origin_of,
    overlap_of,
    parent_of,
    read_priority,
    text,
)
from tasks.spec import JobSpec
from tasks.states import DECIDED, Hold, Role

KeyOf = Callable[[Mapping[str, Any]], str]

_BLANK = {
    name: value for name, value in Job().__dict__.items() if name not in ("_state", "id", "params", "data")
}
_NO_KEYS: Mapping[str, Any] = {}
_wishes = attrgetter(*(f.name for f in fields(JobRequest) if f.name != "params"))


@dataclass(frozen=True, slots=True)
class Common:
    """What requests that differ in their params alone come to. ``request`` is the first of them; ``columns``
    hold every field of the row but id, params and data; ``keyed``: other rows may have a say in it."""

    request: JobRequest
    schema: Schema
    columns: Mapping[str, Any]
    keyed: bool
    dedupe_key_of: KeyOf | None
    concurrency_key_of: KeyOf | None
    max_bytes: int
    data: Mapping[str, Any]


@dataclass(slots=True, eq=False)
class Draft:
    """A job to be: ``sent`` its params as given, ``params`` complete and as they are stored, ``keys`` the columns
    that they decide."""

    common: Common
    id: UUID
    sent: Mapping[str, Any]
    params: dict[str, Any]
    keys: Mapping[str, Any]

    @property
    def keyed(self) -> bool:
        return self.common.keyed or bool(self.keys and self.keys.get("dedupe_key"))

    def columns(self) -> Mapping[str, Any]:
        """Every field of the row but id, params and data."""
        return {**self.common.columns, **self.keys} if self.keys else self.common.columns

    def row(self) -> Job:
        """The job as a row: what ``Job(…)`` makes, at a tenth of its cost."""
        job = Job.__new__(Job)
        data = dict(self.common.data)
        job.__dict__.update(self.columns(), id=self.id, params=self.params, data=data, _state=ModelState())
        return job


def drafts(
    requests: Iterable[JobRequest], now: datetime, tenants: TenantStates | None = None
) -> Iterator[Draft]:
    """The jobs of ``requests``; ``tenants``: states that are known already. Raises UnknownName, ParamsInvalid,
    InvalidInput, TenantForbidden."""
    tenants = {} if tenants is None else tenants
    before: tuple[Any, ...] | None = None
    for request in requests:
        if not isinstance(request, JobRequest):
            raise InvalidInput(f"submit takes JobRequest, got {type(request).__name__}.")
        wishes = _wishes(request)
        # The very same objects, not equal ones: True is no number of attempts, though it equals 1.
        if before is None or not all(map(is_, wishes, before)):
            common = _common(request, now, tenants)
        before = wishes
        yield _draft(common, request.params)


def drafts_of(request: JobRequest, params: Iterable[Mapping[str, Any]], now: datetime) -> Iterator[Draft]:
    """The jobs of ``request``, one for each of ``params`` in place of its own; raises what ``drafts`` raises."""
    common = _common(request, now, {})
    for given in params:
        yield _draft(common, given)


def _draft(common: Common, given: Mapping[str, Any]) -> Draft:
    params = common.schema.normalise(given)
    # Names of its own choice have to be looked at too.
    if common.schema.open_ended or not is_small(params, common.max_bytes):
        params = check_json(params, what="params", max_bytes=common.max_bytes)
    keys = _NO_KEYS
    if common.dedupe_key_of is not None or common.concurrency_key_of is not None:
        keys = _keys(common, params)
    return Draft(common, uuid7(), given, params, keys)


def _keys(common: Common, params: Mapping[str, Any]) -> Mapping[str, Any]:
    keys: dict[str, Any] = {}
    if common.dedupe_key_of is not None:
        keys["dedupe_key"] = key_text(common.dedupe_key_of(params), "dedupe_key")
        keys["role"] = Role.LEADER if keys["dedupe_key"] else Role.NONE
    if common.concurrency_key_of is not None:
        keys["concurrency_key"] = key_text(common.concurrency_key_of(params), "concurrency_key")
    return keys


def _common(request: JobRequest, now: datetime, tenants: TenantStates) -> Common:
    settings = config.get().tasks
    handler = registry.get(request.app_id, request.job_type)
    spec = handler.spec
    here = context.current()
    tenant_id = text(here.tenant_id if request.tenant_id is None else request.tenant_id, "tenant_id", 100)
    hold = gate_tenant(tenant_id, tenants)
    run_after = instant(request.run_after, "run_after")
    due_at = max(run_after, now) if run_after else now
    overlap, overlap_key = overlap_of(request.overlap, request.overlap_key, request.parent_id)
    latest_start_at = instant(request.latest_start_at, "latest_start_at")
    if hold is Hold.NONE and due_at > now:
        hold = Hold.LATER
    elif hold is Hold.NONE and overlap in DECIDED:
        hold = Hold.OVERLAP
    dedupe_key = "" if request.dedupe_key is None else key_text(request.dedupe_key, "dedupe_key")
    concurrency_key = request.concurrency_key
    columns = dict(
        _BLANK,
        app_id=spec.app_id,
        job_type=spec.job_type,
        handler_key=spec.key,
        queue=_queue(request, spec),
        priority=read_priority(request.priority, spec.priority),
        hold=hold,
        reason="tenant suspended" if hold is Hold.TENANT else "",
        created_at=now,
        updated_at=now,
        run_after=run_after,
        due_at=due_at,
        max_attempts=attempts(request.max_attempts, spec.max_attempts or settings.max_attempts),
        concurrency_key="" if concurrency_key is None else key_text(concurrency_key, "concurrency_key"),
        concurrency_limit=spec.concurrency_limit,
        exclusive=spec.exclusive,
        overlap=overlap,
        overlap_key=overlap_key,
        latest_start_at=latest_start_at,
        solo=latest_start_at is not None,  # each of a pack would have to be looked at before it begins
        dedupe_key=dedupe_key,
        dedupe=dedupe_mode(request.dedupe or spec.dedupe),
        role=Role.LEADER if dedupe_key else Role.NONE,
        user_id=text(request.user_id or here.user_id or "", "user_id", 100),
        tenant_id=tenant_id,
        request_id=here.request_id,
        traceparent=here.traceparent,
        parent_id=parent_of(request.parent_id),
        child_key=text(request.child_key, "child_key", KEY_LENGTH),
        schedule_id=text(request.schedule_id, "schedule_id", 200),
        origin=origin_of(request.origin),
        planned_at=instant(request.planned_at, "planned_at"),
        window_start=instant(request.window_start, "window_start"),
        force=flag(request.force),
    )
    unkeyed = (
        request.parent_id is None and request.idempotency_key is None and request.tick_interval_ms is None
    )
    return Common(
        request=request,
        schema=handler.schema,
        columns=columns,
        dedupe_key_of=spec.dedupe_key_of if request.dedupe_key is None and spec.dedupe_key else None,
        concurrency_key_of=spec.concurrency_key_of
        if concurrency_key is None and spec.concurrency_key
        else None,
        keyed=not unkeyed or bool(dedupe_key),
        max_bytes=settings.params_max_bytes,
        data=_data(request.data, settings.result_max_bytes),
    )


def _queue(request: JobRequest, spec: JobSpec) -> str:
    queue = text(request.queue, "queue", 100) if request.queue else spec.queue
    if spec.own_queue and queue != spec.queue:
        raise InvalidInput(
            f"queue: jobs of {registry.shown(spec.key)!r} wait in {spec.queue!r} alone, where its sidecars look; "
            f"leave it out, got {queue!r}."
        )
    return queue


def _data(given: Mapping[str, Any] | None, max_bytes: int) -> Mapping[str, Any]:
    if not given:
        return _NO_KEYS
    if not isinstance(given, Mapping):
        raise InvalidInput(f"data: expected an object, got {type(given).__name__}.")
    return dict(check_json(given, what="data", max_bytes=max_bytes))
