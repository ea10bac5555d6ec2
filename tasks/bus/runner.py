"""A sidecar as a worker: its incarnation, what it may run, the jobs that it is given, what it says it runs."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any
from uuid import UUID, uuid5

from jobsplatform.kernel import config, processes, quotas
from jobsplatform.kernel.errors import InvalidInput, UnknownName
from jobsplatform.kernel.models import Process
from tasks import dispatch, registry, remote, run
from tasks.bus.calls import Lane
from tasks.bus.errors import rate_limited
from tasks.bus.proxy import BusProxyHandler, queue_of_app
from tasks.dispatch import Claimed, WorkerView
from tasks.models import Job
from tasks.states import State

_SPACE = UUID("6b0f2d4e-5f3a-4c57-9a86-4a0f6f1a7c11")
_LONGEST_CHAIN = 1000

MOST_NEW_A_MINUTE = 300
"""Incarnations that the sidecars of one app may begin in a minute: each is a row that stays for a while."""


@dataclass(frozen=True, slots=True)
class Sidecar:
    """Who asks: an incarnation of a sidecar of an app, by the id that it has given itself."""

    app_id: str
    runner_id: UUID
    name: str = ""
    version: str = ""


@dataclass(frozen=True, slots=True)
class Appetite:
    """What it would run: jobs of these types, ``limit`` now, ``capacity`` at once."""

    job_types: Sequence[str]
    limit: int
    capacity: int


@dataclass(frozen=True, slots=True)
class Claim:
    """What it was given: runs that have begun under its incarnation, and until when that is taken for alive.
    ``lanes``: where its jobs would be. ``stopping``: it has said that it takes nothing more."""

    jobs: Sequence[Job]
    lease_expires_at: datetime
    lanes: frozenset[Lane]
    stopping: bool = False


def handlers_of(app_id: str, job_types: Iterable[str]) -> list[BusProxyHandler]:
    """The bound types that it may fetch jobs of; those that an operator has switched off are left out.

    Raises UnknownName for a type that the app has not bound, InvalidInput for one that is not to be fetched.
    """
    found = []
    for job_type in job_types:
        handler = registry.find(app_id, job_type)
        if not isinstance(handler, BusProxyHandler):
            mine = [h.spec.job_type for h in registry.bound().values() if h.spec.app_id == app_id]
            raise UnknownName("job type", job_type, mine)
        if handler.transport != "claim":
            raise InvalidInput(
                f"job_types: jobs of {job_type!r} go out by {handler.transport}, not by claim."
            )
        if handler.claimable:
            found.append(handler)
    return found


def claim(sidecar: Sidecar, appetite: Appetite, now: datetime) -> Claim:
    """Jobs that this sidecar may start now, begun; none when there are none, or it is stopping. Raises what
    ``handlers_of`` raises."""
    handlers = handlers_of(sidecar.app_id, appetite.job_types)
    keys = frozenset(handler.spec.key for handler in handlers)
    queues = (queue_of_app(sidecar.app_id),)
    process = arrive(sidecar, now)
    changes = _changes(process, sidecar, queues, appetite.capacity, keys)
    processes.beat(process.pk, now, **changes)
    jobs: list[Job] = []
    stopping = process.stopping or process.ended
    if keys and not stopping:
        view = WorkerView(process.pk, queues, keys, appetite.capacity, sidecar=True, most=appetite.limit)
        jobs = begin_all(view, now)
    return Claim(jobs, expires_at(now), frozenset((queue, key) for queue in queues for key in keys), stopping)


def begin_all(view: WorkerView, now: datetime) -> list[Job]:
    """One round of dispatch for a sidecar: what it was given has begun."""
    begun: dict[UUID, int] = {}

    def begin(claimed: Claimed) -> None:
        if run.begin(claimed.job_id, claimed.lease, view.process_id) is not None:
            begun[claimed.job_id] = claimed.lease

    dispatch.round(view, begin, now)
    if not begun:
        return []
    rows = {job.id: job for job in Job.objects.filter(id__in=list(begun), state=State.RUNNING)}
    return [rows[job_id] for job_id, lease in begun.items() if job_id in rows and rows[job_id].lease == lease]


def _changes(
    process: Process, sidecar: Sidecar, queues: Sequence[str], capacity: int, keys: frozenset[str]
) -> dict[str, Any]:
    wanted = {
        "queues": list(queues),
        "handlers": sorted(keys),
        "concurrency": capacity,
        "name": _name(sidecar),
        "version": sidecar.version[:100] or process.version,
    }
    return {name: value for name, value in wanted.items() if getattr(process, name) != value}


# -- its incarnation ---------------------------------------------------------------------------------


def arrive(sidecar: Sidecar, now: datetime) -> Process:
    """The row of this sidecar; made when it is new, or was taken for dead meanwhile, and goes on. One that has ended in
    good order has ended: a claim of it that still waits must not bring it back.

    Raises InvalidInput, and Refusal: RATE_LIMITED, when the app has begun too many in this minute."""
    for process_id in _incarnations(sidecar):
        row = Process.objects.filter(pk=process_id).first()
        if row is None:
            _admit(sidecar.app_id)
            _register(process_id, sidecar, now)
            row = Process.objects.get(pk=process_id)
        if not row.ended or row.stopped_at is not None:
            return row
    raise InvalidInput("runner_id: it was taken for dead too often; begin anew with another one.")


def _admit(app_id: str) -> None:
    wait = quotas.take("runners", app_id, 1, MOST_NEW_A_MINUTE)
    if wait > 0:
        raise rate_limited("new runner_ids a minute", quotas.retry_after(wait))


def _incarnations(sidecar: Sidecar) -> Iterator[UUID]:
    # Made of the app's id, so that no app can be, or get in the way of, a process that is not its own.
    process_id = uuid5(_SPACE, f"{sidecar.app_id}\x1f{sidecar.runner_id}")
    for _ in range(_LONGEST_CHAIN):
        yield process_id
        process_id = uuid5(process_id, "next")


def _register(process_id: UUID, sidecar: Sidecar, now: datetime) -> None:
    row = Process(
        id=process_id,
        host="",
        pid=0,
        role=Process.Role.SIDECAR,
        name=_name(sidecar),
        version=sidecar.version[:100],
        app_id=sidecar.app_id,
        capabilities={"kill": False},
        started_at=now,
        heartbeat_at=now,
        info={"runner_id": str(sidecar.runner_id)},
    )
    Process.objects.bulk_create([row], ignore_conflicts=True)


def _name(sidecar: Sidecar) -> str:
    return (sidecar.name or f"{sidecar.app_id}@{str(sidecar.runner_id)[:8]}")[:255]


def expires_at(now: datetime) -> datetime:
    """Until when a sidecar that was heard of now is taken for alive."""
    return now + timedelta(seconds=config.get().tasks.lease_seconds)


def heard_of(app_id: str, process_id: UUID, now: datetime) -> bool:
    """A word of its run is a heartbeat of the app's sidecar, and of nobody else that may hold the run: a process of
    the platform speaks for itself. False: it is no such sidecar, or was taken for dead."""
    return processes.beat(process_id, now, of_app=app_id)


# -- its heartbeat -----------------------------------------------------------------------------------


def heartbeat(
    sidecar: Sidecar, running: Sequence[tuple[UUID, int]], stopping: bool, now: datetime
) -> dict[tuple[UUID, int], Job]:
    """It lives and works on these runs; those that it still holds.

    A run of it that it does not name for a whole lease was lost on its way there, and is handed back. One that is
    stopping gets nothing more; once it works on nothing, it has ended.
    """
    process = arrive(sidecar, now)
    held = remote.held(sidecar.app_id, running)
    for other in {job.worker_id for job in held.values() if job.worker_id not in (None, process.pk)}:
        heard_of(sidecar.app_id, other, now)
    if stopping and not running:
        remote.hand_back_all(process.pk, "its sidecar stopped", now)
        processes.stop(process.pk, now)
        return held
    changes: dict[str, Any] = {"stopping": True} if stopping and not process.stopping else {}
    missing = _missing(process, set(running), now)
    if missing != process.info.get("missing", {}):
        changes["info"] = {**process.info, "missing": missing}
    processes.beat(process.pk, now, **changes)
    return held


def _missing(process: Process, running: set[tuple[UUID, int]], now: datetime) -> dict[str, str]:
    """Since when each run that it does not name has been missing; those missing too long are handed back."""
    before: dict[str, str] = process.info.get("missing", {})
    rows = Job.objects.filter(worker_id=process.pk, state=State.RUNNING).order_by("id")
    grace = timedelta(seconds=config.get().tasks.lease_seconds)
    missing: dict[str, str] = {}
    for job_id, lease in rows.values_list("id", "lease"):
        if (job_id, lease) in running:
            continue
        since = before.get(f"{job_id}/{lease}", now.isoformat())
        if datetime.fromisoformat(since) + grace <= now:
            remote.hand_back(job_id, lease, remote.NOT_NAMED, now)
        else:
            missing[f"{job_id}/{lease}"] = since
    return missing
