"""The ``jobs`` service, for those who create and follow jobs."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from datetime import datetime
from typing import Any, Literal, TypedDict

from jobsplatform_sdk.calls.call import Call, count, given, new_key, nothing, wire
from jobsplatform_sdk.errors import NotFound
from jobsplatform_sdk.shapes import Bound, Cancelled, Created, Job, Page, Summary

Transport = Literal["claim", "http", "celery"]


class Filter(TypedDict, total=False):
    """Jobs that match all that is given. Instants are aware; ``_after`` is inclusive, ``_before`` exclusive."""

    ids: Sequence[str]
    types: Sequence[str]
    states: Sequence[str]
    tenant_id: str
    queue: str
    parent: str
    user: str
    dedupe_key: str
    schedule_id: str
    priority_min: int
    priority_max: int
    created_after: datetime
    created_before: datetime
    finished_after: datetime
    finished_before: datetime
    data: Mapping[str, Any]


class NewJob(TypedDict, total=False):
    """One job of ``create_many``; the fields of ``create``."""

    job_type: str
    params: Mapping[str, Any]
    data: Mapping[str, Any]
    queue: str
    priority: int | str
    run_after: datetime
    latest_start_at: datetime
    user_id: str
    tenant_id: str
    dedupe_key: str
    dedupe: Literal["alias", "keep_latest", "reject"]
    idempotency_key: str
    max_attempts: int
    parent_id: str
    child_key: str


def create(
    job_type: str,
    params: Mapping[str, Any] | None = None,
    *,
    data: Mapping[str, Any] | None = None,
    queue: str | None = None,
    priority: int | str | None = None,
    run_after: datetime | None = None,
    latest_start_at: datetime | None = None,
    user_id: str | None = None,
    tenant_id: str | None = None,
    dedupe_key: str | None = None,
    dedupe: Literal["alias", "keep_latest", "reject"] | None = None,
    idempotency_key: str | None = None,
    max_attempts: int | None = None,
    parent_id: str | None = None,
    child_key: str | None = None,
) -> Call[Created]:
    """Make a job. Without an ``idempotency_key`` one is made, so that a lost answer never makes two jobs.

    Raises UnknownHandler, ParamsInvalid, TooLarge, JobDuplicate, IdempotencyConflict, TenantForbidden.
    """
    body = given(
        job_type=job_type,
        params=dict(params or {}),
        data=data,
        queue=queue,
        priority=priority,
        run_after=run_after,
        latest_start_at=latest_start_at,
        user_id=user_id,
        tenant_id=tenant_id,
        dedupe_key=dedupe_key,
        dedupe=dedupe,
        idempotency_key=idempotency_key or new_key(),
        max_attempts=max_attempts,
        parent_id=parent_id,
        child_key=child_key,
    )
    return Call("jobs.create", body, Created.read)


def create_many(jobs: Iterable[NewJob]) -> Call[list[Created]]:
    """Make up to 1,000 jobs, all or none; the answers in the same order. Raises as ``create`` does."""
    bodies = [given(**{"idempotency_key": new_key(), **job}) for job in jobs]
    return Call(
        "jobs.create_many",
        {"jobs": bodies},
        lambda answer: [Created.read(one) for one in answer["results"]],
    )


def get(job_id: str) -> Call[Job]:
    """One job. Raises NotFound."""

    def read(answer: Mapping[str, Any]) -> Job:
        page = Page.read(answer)
        if not page.jobs:
            raise NotFound(f"No job {job_id} of this app.", status=404)
        return page.jobs[0]

    return Call("jobs.query", {"id": job_id}, read)


def query(
    filter: Filter | None = None,
    *,
    ids: Sequence[str] | None = None,
    after: str | None = None,
    limit: int | None = None,
) -> Call[Page]:
    """A page of the app's jobs, of the filter or by their ids; ``after`` is the ``next`` of the page before."""
    chosen = {"ids": list(ids)} if ids is not None else {"filter": _filter(filter)}
    return Call("jobs.query", {**chosen, **given(after=after, limit=limit)}, Page.read)


def cancel(job_id: str, *, cascade: bool = False) -> Call[Cancelled]:
    """Cancel a job, or ask its run to stop; ``cascade``: its children too. Raises NotFound."""
    return Call("jobs.cancel", {"id": job_id, "cascade": cascade}, Cancelled.read)


def cancel_by_filter(filter: Filter, *, dry_run: bool = False) -> Call[int]:
    """Cancel all jobs of the filter, in batches; how many. ``dry_run``: only count them."""
    return Call("jobs.cancel_by_filter", {"filter": _filter(filter), "dry_run": dry_run}, count)


def cleanup(filter: Filter, *, dry_run: bool = False) -> Call[int]:
    """Remove ended jobs of the filter; how many."""
    return Call("jobs.cleanup", {"filter": _filter(filter), "dry_run": dry_run}, count)


def progress_summary(*, parent_id: str | None = None, filter: Filter | None = None) -> Call[Summary]:
    """How far the children of a job, or the jobs of a filter, are."""
    chosen = {"parent_id": parent_id} if parent_id is not None else {"filter": _filter(filter)}
    return Call("jobs.progress_summary", chosen, Summary.read)


def preempt(job_id: str, *, job_types: Sequence[str] | None = None) -> Call[list[str]]:
    """Let older running jobs of the same app (and of these types) give way to this one; their ids."""
    body = {"by": job_id, **given(job_types=None if job_types is None else list(job_types))}
    return Call(
        "jobs.preempt",
        body,
        lambda answer: [str(one) for one in answer["preempted"]],
        repeatable=False,
    )


def register_handler(
    job_type: str,
    *,
    service: str,
    method: str | None = None,
    transport: Transport = "claim",
    url: str | None = None,
    spec: Mapping[str, Any] | None = None,
) -> Call[Bound]:
    """Tell the platform that a sidecar runs this job type. Again with the same changes nothing."""
    chosen = {name: wire(value) for name, value in (spec or {}).items() if value is not None}
    body = given(job_type=job_type, service=service, method=method, transport=transport, url=url, spec=chosen)
    return Call("jobs.register_handler", body, Bound.read)


def unregister_handler(job_type: str) -> Call[None]:
    """Nothing runs this job type any more; its jobs wait."""
    return Call("jobs.unregister_handler", {"job_type": job_type}, nothing)


def _filter(filter: Filter | None) -> dict[str, Any]:
    return {
        name: list(value) if isinstance(value, tuple) else wire(value)
        for name, value in (filter or {}).items()
        if value is not None
    }
