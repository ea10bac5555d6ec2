"""From the children that a handler names to their jobs."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from datetime import datetime
from uuid import UUID

from django.db import transaction

from jobsplatform.kernel.errors import InvalidInput
from tasks import transitions
from tasks.context import Child, Requested
from tasks.models import Job
from tasks.requests import JobRequest
from tasks.submit import submit_many


def spawn(
    parent: Job,
    children: Sequence[Child | Requested],
    ignore_failures: bool,
    now: datetime,
    *,
    deferred: bool = False,
) -> list[UUID] | None:
    """Create the children that ``parent`` does not have yet; the ids of all, in order.

    None: the parent's run holds its lease no more, and nothing was created. In the caller's transaction if
    there is one: the parent's row stays locked until its end, so that nobody ends or cancels the parent without
    seeing these children. They belong to the parent's tenant and user. ``deferred``: a parent that waits to be
    finished from outside may get them too. Raises what ``submit`` raises.
    """
    requests = [_request(parent, child) for child in children]
    with transaction.atomic():
        if not transitions.note_children(parent.id, parent.lease, ignore_failures, now, deferred=deferred):
            return None
        results = submit_many(requests, now)
    return [result.id for result in results if result.id is not None]


def _request(parent: Job, child: Child | Requested) -> JobRequest:
    if isinstance(child, JobRequest):
        return replace(
            child,
            parent_id=parent.id,
            tenant_id=parent.tenant_id if child.tenant_id is None else child.tenant_id,
            user_id=child.user_id or parent.user_id,
        )
    if not isinstance(child, Child):
        raise InvalidInput(f"spawn takes Child or JobRequest, got {type(child).__name__}.")
    if isinstance(child.handler, str):
        app_id, job_type = parent.app_id, child.handler
    else:
        app_id, job_type = child.handler.spec.app_id, child.handler.spec.job_type
    return JobRequest(
        job_type=job_type,
        app_id=app_id,
        params=child.params,
        parent_id=parent.id,
        child_key=child.key,
        tenant_id=parent.tenant_id,
        user_id=parent.user_id,
    )
