"""``jobs``, for those who run them: bind types, fetch jobs, beat, report and end runs."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import replace
from datetime import datetime
from functools import wraps
from typing import Any, TypeVar

from jobsplatform.kernel import clock, config
from jobsplatform.kernel.errors import DuplicateHandler, InvalidInput, StaleLease, UnknownName
from tasks import remote
from tasks.bus import bindings, celery_queue, runner, signing
from tasks.bus.calls import Call, Method, NotYet
from tasks.bus.deliveries import delivery
from tasks.bus.endings import ending_of
from tasks.bus.errors import Refusal, invalid
from tasks.bus.jobs import requests_of
from tasks.bus.running_schemas import (
    BatchChildrenIn,
    BatchChildrenOut,
    CheckpointIn,
    ClaimIn,
    ClaimOut,
    HeartbeatIn,
    HeartbeatOut,
    LeaseOut,
    MergeDataIn,
    MergeDataOut,
    RegisterIn,
    RegisterOut,
    UnregisterIn,
    UpdateProgressIn,
    UpdateStatusIn,
    UpdateStatusOut,
)
from tasks.bus.schemas import Nothing
from tasks.models import HandlerBinding, Job
from tasks.output import iso
from tasks.remote import Standing
from tasks.requests import read_priority
from tasks.states import Priority

F = TypeVar("F", bound=Callable[..., dict[str, Any]])


def _refusals(method: F) -> F:
    """Say a lost lease, and a type that nobody has bound, as the bus does."""

    @wraps(method)
    def wrapper(call: Call, given: Any) -> dict[str, Any]:
        try:
            return method(call, given)
        except StaleLease as error:
            raise Refusal("LEASE_LOST", error.message, {"state": error.facts.get("state")}) from None
        except UnknownName as error:
            raise Refusal("UNKNOWN_HANDLER", error.message, {"job_type": error.facts["value"]}) from None
        except DuplicateHandler as error:
            raise Refusal("STATE_CONFLICT", error.message) from None

    return wrapper  # type: ignore[return-value]


# -- bindings ----------------------------------------------------------------------------------------


@_refusals
def register_handler(call: Call, given: RegisterIn) -> dict[str, Any]:
    """Bind a type to a service of this app, or change what is bound."""
    if (given.transport == HandlerBinding.Transport.HTTP) != (given.url is not None):
        raise invalid(("url", "names where to call, with the transport http and no other"))
    if given.transport == HandlerBinding.Transport.CELERY and not celery_queue.is_on(call.app_id):
        raise invalid(("transport", "celery is off for this app; an operator names its broker first"))
    wanted = bindings.Wanted(
        job_type=given.job_type,
        service=given.service,
        method=given.method or "",
        transport=given.transport,
        url=given.url or "",
        spec=_spec(given),
    )
    row = bindings.register(call.app_id, wanted, actor=call.actor, now=clock.now())
    http = row.transport == HandlerBinding.Transport.HTTP
    secret = signing.secret_of(call.app_id) if http else None
    return {"handler": bindings.view(row), "signing_secret": secret}


def _spec(given: RegisterIn) -> dict[str, Any]:
    spec = given.spec.model_dump(exclude_none=True)
    if "priority" in spec:
        spec["priority"] = read_priority(spec["priority"], Priority.NORMAL)
    return spec


@_refusals
def unregister_handler(call: Call, given: UnregisterIn) -> dict[str, Any]:
    """Give a type up."""
    bindings.unregister(call.app_id, given.job_type, actor=call.actor)
    return {}


# -- claim and heartbeat -----------------------------------------------------------------------------


@_refusals
def claim(call: Call, given: ClaimIn) -> dict[str, Any]:
    """Jobs to run. Raises NotYet when there are none and the sidecar waits."""
    now = clock.now()
    sidecar = runner.Sidecar(call.app_id, given.runner_id, given.name or "", given.version or "")
    appetite = runner.Appetite(given.job_types, given.limit, given.capacity or given.limit)
    try:
        found = runner.claim(sidecar, appetite, now)
    except (UnknownName, InvalidInput):
        # It may just have been bound, or bound otherwise, by another process: the rows say so before this one does.
        bindings.refresh()
        found = runner.claim(sidecar, appetite, now)
    answer = claimed(found.jobs, found.lease_expires_at, now)
    if not found.jobs and given.wait_seconds > 0 and not found.stopping:
        raise NotYet(given.wait_seconds, answer, found.lanes)
    return answer


def claimed(jobs: Iterable[Job], lease_expires_at: datetime, now: datetime) -> dict[str, Any]:
    """Runs that have begun, as they go over the bus."""
    settings = config.get().tasks
    return {
        "jobs": [delivery(job, now) for job in jobs],
        "lease_expires_at": iso(lease_expires_at),
        "heartbeat_seconds": settings.heartbeat_seconds,
        "lease_seconds": settings.lease_seconds,
    }


@_refusals
def heartbeat(call: Call, given: HeartbeatIn) -> dict[str, Any]:
    """The sidecar lives, and works on these runs."""
    now = clock.now()
    running = [(run.id, run.lease) for run in given.running]
    sidecar = runner.Sidecar(call.app_id, given.runner_id)
    held = runner.heartbeat(sidecar, running, given.stopping, now)
    runs = []
    for key in running:
        job = held.get(key)
        cancel = remote.cancel_of(job, now) if job is not None else None
        runs.append({"id": str(key[0]), "lease": key[1], "held": job is not None, "cancel": cancel or None})
    return {"runs": runs, "lease_expires_at": iso(runner.expires_at(now))}


# -- one run -----------------------------------------------------------------------------------------


@_refusals
def update_status(call: Call, given: UpdateStatusIn) -> dict[str, Any]:
    """The end of a run, or of a deferred job."""
    now = clock.now()
    job = remote.find(call.app_id, given.id, given.lease, "finish")
    after = remote.end(call.app_id, given.id, given.lease, ending_of(given.ending, job), now)
    if job.worker_id is not None:
        runner.heard_of(call.app_id, job.worker_id, now)
    return {"state": after.state, **_lease(call, after, now)}


@_refusals
def update_progress(call: Call, given: UpdateProgressIn) -> dict[str, Any]:
    """How far a run is."""
    now = clock.now()
    how = remote.progress(call.app_id, given.id, given.lease, given.done, given.total, given.label, now)
    return _lease(call, how, now)


@_refusals
def checkpoint(call: Call, given: CheckpointIn) -> dict[str, Any]:
    """Where the next run would go on."""
    now = clock.now()
    how = remote.checkpoint(call.app_id, given.id, given.lease, given.cursor, now)
    return _lease(call, how, now)


@_refusals
def merge_data(call: Call, given: MergeDataIn) -> dict[str, Any]:
    """Values over the job's data."""
    now = clock.now()
    whole, how = remote.merge(call.app_id, given.id, given.lease, given.data, now)
    return {"data": whole, **_lease(call, how, now)}


@_refusals
def batch_children(call: Call, given: BatchChildrenIn) -> dict[str, Any]:
    """Children of a run, all or none."""
    now = clock.now()
    remote.find(call.app_id, given.id, given.lease, "children")
    faults = [n for n, child in enumerate(given.children) if child.parent_id is not None]
    if faults:
        raise invalid((f"children[{faults[0]}].parent_id", "leave it out: the parent is the job itself"))
    keys = [child.child_key or str(place) for place, child in enumerate(given.children)]
    if len(set(keys)) < len(keys):
        raise invalid(("children", "a child_key is there twice; each child needs one of its own"))
    wishes = [
        replace(wish, child_key=key)
        for wish, key in zip(requests_of(call, given.children), keys, strict=True)
    ]
    ids, how = remote.spawn(call.app_id, given.id, given.lease, wishes, given.ignore_failures, now)
    return {"ids": [str(job_id) for job_id in ids], **_lease(call, how, now)}


def _lease(call: Call, how: Standing, now: datetime) -> dict[str, Any]:
    if how.worker_id is not None:
        runner.heard_of(call.app_id, how.worker_id, now)
    expires = runner.expires_at(now) if how.worker_id is not None else how.expires_at
    return {"cancel": how.cancel or None, "lease_expires_at": iso(expires)}


METHODS = (
    Method("jobs.claim", "jobs:run", ClaimIn, ClaimOut, claim, "Fetch jobs to run; waits for the first."),
    Method("jobs.heartbeat", "jobs:run", HeartbeatIn, HeartbeatOut, heartbeat, "Say that the sidecar lives."),
    Method("jobs.update_status", "jobs:run", UpdateStatusIn, UpdateStatusOut, update_status, "End a run."),
    Method("jobs.update_progress", "jobs:run", UpdateProgressIn, LeaseOut, update_progress, "Tell how far."),
    Method("jobs.checkpoint", "jobs:run", CheckpointIn, LeaseOut, checkpoint, "Save where to go on."),
    Method("jobs.merge_data", "jobs:run", MergeDataIn, MergeDataOut, merge_data, "Change the job's data."),
    Method(
        "jobs.batch_children",
        "jobs:run",
        BatchChildrenIn,
        BatchChildrenOut,
        batch_children,
        "Make up to 10,000 children of a run.",
        quota="creates",
        cost=lambda given: len(given.children),
    ),
    Method("jobs.register_handler", "jobs:run", RegisterIn, RegisterOut, register_handler, "Bind a type."),
    Method("jobs.unregister_handler", "jobs:run", UnregisterIn, Nothing, unregister_handler, "Give it up."),
)
