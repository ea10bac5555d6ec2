"""``jobs``: create, look at and cancel an app's own jobs, one by one."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from contextlib import nullcontext
from datetime import datetime
from typing import Any
from uuid import UUID

from django.db import transaction
from pydantic_core import to_json

from jobsplatform.kernel import audit, clock
from jobsplatform.kernel.db import retry_deadlocks
from jobsplatform.kernel.errors import UnknownName
from jobsplatform.kernel.ids import uuid7
from jobsplatform.kernel.models import AuditEvent
from tasks import control, queries, registry, submit
from tasks.bus import bindings
from tasks.bus.calls import Call, Method
from tasks.bus.errors import Refusal, invalid, not_found
from tasks.bus.filters import own
from tasks.bus.job_schemas import (
    CancelIn,
    CancelOut,
    CreateIn,
    CreateManyIn,
    CreateManyOut,
    CreateOut,
    QueryIn,
    QueryOut,
)
from tasks.filters import JobFilter
from tasks.models import Job
from tasks.output import job_output
from tasks.requests import JobRequest
from tasks.states import FINAL
from tasks.submit import SubmitResult

MOST_ANSWER_BYTES = 16 * 2**20
"""A page of jobs ends with the one that brings it past this."""

FEW = 50


@retry_deadlocks
def create(call: Call, given: CreateIn) -> dict[str, Any]:
    """Make one job; with an idempotency key that made one before, give that one back."""
    now = clock.now()

    def record(made: SubmitResult) -> AuditEvent:
        after = {"job_type": given.job_type, "status": made.status}
        return audit.event("job.create", "job", made.id, actor=call.actor, after=after, at=now)

    # A parent is held until its child is there; a job by itself is one statement.
    with nullcontext() if given.parent_id is None else transaction.atomic():
        result, job = submit.submit_shown(requests_of(call, [given])[0], now, record)
    return {**_made(result), "job": job_output(job, now=now)}


@retry_deadlocks
def create_many(call: Call, given: CreateManyIn) -> dict[str, Any]:
    """Make many jobs, all or none."""
    now = clock.now()
    with transaction.atomic():
        results = submit.submit_many(requests_of(call, given.jobs), now)
        after = {
            "jobs": len(results),
            "types": dict(Counter(each.job_type for each in given.jobs)),
            "first": str(results[0].id),
            "last": str(results[-1].id),
        }
        audit.record("jobs.create_many", "jobs", "batch", actor=call.actor, after=after, at=now)
    return {"results": [_made(result) for result in results]}


def query(call: Call, given: QueryIn) -> dict[str, Any]:
    """The app's jobs; by ``id`` alone it is NOT_FOUND when the app has none such."""
    if sum(each is not None for each in (given.id, given.ids, given.filter)) > 1:
        raise invalid(("", "give one of id, ids and filter"))
    now = clock.now()
    if given.id is not None:
        return {"jobs": [job_output(own_job(call, given.id), now=now)], "next": None}
    if given.ids is not None:
        return _page(JobFilter(ids=tuple(given.ids), app_id=call.app_id), len(given.ids), given.after, now)
    return _page(own(call, given.filter), given.limit, given.after, now)


def _page(wanted: JobFilter, limit: int, after: UUID | None, now: datetime) -> dict[str, Any]:
    """A page of so many jobs, or of fewer that are large. What is large is read few at a time."""
    jobs: list[dict[str, Any]] = []
    size, following, few = 0, None if after is None else str(after), FEW
    while True:
        page = queries.page(wanted, limit=min(few, limit - len(jobs)), after=following)
        for job in page.jobs:
            jobs.append(job_output(job, now=now))
            size += len(to_json(jobs[-1]))
            if size > MOST_ANSWER_BYTES:
                more = page.next is not None or job is not page.jobs[-1]
                return {"jobs": jobs, "next": jobs[-1]["id"] if more else None}
        following = page.next
        if following is None or len(jobs) == limit:
            return {"jobs": jobs, "next": following}
        if size * 4 < MOST_ANSWER_BYTES:
            few = limit


def cancel(call: Call, given: CancelIn) -> dict[str, Any]:
    """Cancel a job: at once where it does not run, else it is asked to stop."""
    own_job(call, given.id)
    result = control.cancel(given.id, actor=call.actor, cascade=given.cascade)
    job = job_output(own_job(call, given.id), now=clock.now())
    return {"how": result.how, "children": result.children, "job": job}


def own_job(call: Call, job_id: UUID) -> Job:
    """The app's job with this id. Raises Refusal: NOT_FOUND, for another app's too."""
    # Few are aliases; to join the leader of each costs more than to read those.
    found = list(Job.objects.filter(id=job_id, app_id=call.app_id)[:1])
    if not found:
        raise not_found()
    return found[0]


def requests_of(call: Call, wishes: Sequence[CreateIn]) -> list[JobRequest]:
    """The wishes, as the platform takes them; their app is the token's, and a child belongs to its parent's tenant
    and user where it says nothing else. Raises Refusal: UNKNOWN_HANDLER, NOT_FOUND or STATE_CONFLICT of a parent."""
    for job_type in {each.job_type for each in wishes}:
        know_type(call, job_type)
    parents = _parents(call, wishes)
    return [_request(call, each, parents.get(each.parent_id)) for each in wishes]


def _request(call: Call, given: CreateIn, parent: Job | None) -> JobRequest:
    tenant_id, user_id, child_key = given.tenant_id, given.user_id, ""
    if parent is not None:
        tenant_id = parent.tenant_id if tenant_id is None else tenant_id
        user_id = parent.user_id if user_id is None else user_id
        # Unique among the parent's children; one that nobody chose is like no other.
        child_key = given.child_key or given.idempotency_key or uuid7().hex
    return JobRequest(
        given.job_type,
        given.params,
        app_id=call.app_id,
        run_after=given.run_after,
        latest_start_at=given.latest_start_at,
        priority=given.priority,
        queue=given.queue,
        dedupe_key=given.dedupe_key,
        dedupe=given.dedupe,
        idempotency_key=given.idempotency_key,
        user_id=user_id or "",
        tenant_id=tenant_id,
        parent_id=given.parent_id,
        child_key=child_key,
        max_attempts=given.max_attempts,
        data=given.data or None,
    )


def know_type(call: Call, job_type: str) -> None:
    """Raises Refusal: UNKNOWN_HANDLER, which names nothing of other apps."""
    if registry.find(call.app_id, job_type) is not None:
        return
    bindings.refresh()  # another process may just have bound it
    if registry.find(call.app_id, job_type) is not None:
        return
    mine = [each.spec.job_type for each in registry.all() if each.spec.app_id == call.app_id]
    raise Refusal("UNKNOWN_HANDLER", str(UnknownName("job type", job_type, mine)), {"job_type": job_type})


def _parents(call: Call, wishes: Sequence[CreateIn]) -> dict[UUID | None, Job]:
    wanted = {each.parent_id for each in wishes if each.parent_id is not None}
    if not wanted:
        return {}
    rows = Job.objects.filter(id__in=wanted, app_id=call.app_id).only("id", "state", "tenant_id", "user_id")
    # Until the children are there, nobody ends a parent without seeing them.
    rows = rows.order_by("id").select_for_update()
    found: dict[UUID | None, Job] = {job.id: job for job in rows}
    if len(found) < len(wanted):
        raise not_found()
    if any(job.state in FINAL for job in found.values()):
        raise Refusal("STATE_CONFLICT", "The parent has ended: it takes no more children.")
    return found


def _id(result: SubmitResult) -> UUID:
    assert result.id is not None, "only live ticks are skipped, and the bus makes none"
    return result.id


def _made(result: SubmitResult) -> dict[str, Any]:
    leader = result.leader_id if result.status in ("alias", "successor") else None
    return {
        "id": str(_id(result)),
        "status": result.status,
        "alias_job_id": str(leader) if leader else None,
    }


METHODS = (
    Method(
        "jobs.create",
        "jobs:create",
        CreateIn,
        CreateOut,
        create,
        "Make one job.",
        quota="creates",
    ),
    Method(
        "jobs.create_many",
        "jobs:create",
        CreateManyIn,
        CreateManyOut,
        create_many,
        "Make up to 1,000 jobs, all or none.",
        quota="creates",
        cost=lambda given: len(given.jobs),
    ),
    Method("jobs.query", "jobs:read", QueryIn, QueryOut, query, "Look at jobs by id or filter."),
    Method("jobs.cancel", "jobs:cancel", CancelIn, CancelOut, cancel, "Cancel a job."),
)
