"""What there is to tell of one row: who may hear it, on which topics, and its event as JSON."""

from __future__ import annotations

import json
from collections.abc import Collection
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any

from tasks.live import topics
from tasks.live.viewer import Audience
from tasks.models import AppEvent, ExternalJob, Job
from tasks.output import iso, job_output
from tasks.queries import shown_job
from tasks.states import Role, State

FOLLOWING_SCALE = 1_000_000
"""Of jobs with a dedupe key the own revision counts so much more than that of the leader they may show."""

GOES_ON = "continuation"
"""The reason of a job whose children have ended and whose continuation has still to begin."""

_BETWEEN = frozenset({State.PENDING, State.DISPATCHED})


@dataclass(frozen=True, slots=True)
class Run:
    """Where the last run of a job stands."""

    job_id: str
    app_id: str
    job_type: str
    lease: int
    state: State
    reason: str
    actor: str
    dispatched_at: datetime | None
    started_at: datetime | None
    finished_at: datetime | None
    continuing: bool = False
    awaits_continuation: bool = False  # its children have ended, and the rest of it has still to begin


@dataclass(slots=True)
class Fact:
    """One row's news. ``bodies``: the event for those who see payloads (True) and those who do not (False).
    ``revision`` orders what is shown of it, ``written`` counts the writes of its own row."""

    key: str
    revision: int
    written: int
    topics: tuple[str, ...]
    user_id: str
    app_id: str
    bodies: dict[bool, str] = field(default_factory=dict)
    run: Run | None = None
    leader: str = ""  # whose status is shown
    addressed: bool = False  # to its user, who sees all of it

    def body(self, audience: Audience) -> str | None:
        """The event as this audience may see it; None when nobody of its kind was there when the row was read, so
        that its snapshot is newer."""
        own = self.addressed and audience.user_id == self.user_id
        return self.bodies.get(audience.payload or own)

    def heard_by(self, audience: Audience) -> bool:
        """Is it for this audience?"""
        return audience.hears(self.user_id, self.app_id)


def dumps(value: Any) -> str:
    """Compact JSON."""
    return json.dumps(value, ensure_ascii=False, separators=(",", ":"))


def revision_of(job: Job) -> int:
    """Grows with each change of what is shown of the job. An alias shows its leader, whose row changes alone."""
    if not job.dedupe_key:
        return int(job.revision)
    shown = shown_job(job)
    followed = 0 if shown is job else min(shown.revision, FOLLOWING_SCALE - 1)
    return int(job.revision) * FOLLOWING_SCALE + followed


def output(job: Job, *, payload: bool) -> dict[str, Any]:
    """The job's shape, with the names of columns that are too large to be pushed as ``truncated``."""
    shown = job_output(job, payload=payload)
    cut = getattr(shown_job(job), "too_large", ())
    if cut:
        shown["truncated"] = list(cut)
    return shown


def job_row(job: Job, *, payload: bool) -> dict[str, Any]:
    """The job as a snapshot carries it."""
    return {"revision": revision_of(job), "job": output(job, payload=payload)}


def of_job(job: Job, payloads: Collection[bool]) -> Fact:
    """A job's news, written out for those of ``payloads``."""
    about = [topics.of_job(job.id), topics.of_type(job.app_id, job.job_type), f"app:{job.app_id}", "jobs"]
    if job.user_id:
        about.append(f"user:{job.user_id}")
    if job.schedule_id:
        about.append(f"schedule:{job.schedule_id}")
    bodies = {payload: dumps({"name": "job_update", **job_row(job, payload=payload)}) for payload in payloads}
    return Fact(
        key=f"job:{job.id}",
        revision=revision_of(job),
        written=int(job.revision),
        topics=tuple(about),
        user_id=job.user_id,
        app_id=job.app_id,
        bodies=bodies,
        run=run_of(job),
        leader=str(job.leader_id or "") if job.role == Role.ALIAS else "",
    )


def run_of(job: Job) -> Run:
    """Where its last run stands."""
    return Run(
        str(job.id),
        job.app_id,
        job.job_type,
        job.lease,
        State(job.state),
        job.reason or job.cause or job.error_type,
        actor_of(job),
        job.dispatched_at,
        job.started_at,
        job.finished_at,
        job.continuing,
        awaits_continuation=job.continuing and job.state in _BETWEEN and job.reason == GOES_ON,
    )


def on_its_way(run: Run) -> bool:
    """Does it run? While its children do, and until its continuation has begun, it still does."""
    return run.state in (State.RUNNING, State.WAITING) or run.awaits_continuation


def actor_of(job: Job) -> str:
    """Who asked for it: a user, else a schedule, else an app; empty for the platform itself."""
    if job.user_id:
        return job.user_id
    if job.schedule_id:
        return f"schedule:{job.schedule_id}"
    return f"app:{job.app_id}" if job.app_id else ""


def running(run: Run) -> dict[str, Any]:
    """A run that is on its way, for a snapshot and for the event of its start."""
    return {
        "app_id": run.app_id,
        "job_type": run.job_type,
        "job_id": run.job_id,
        "started_at": iso(run.started_at),
        "actor": run.actor,
    }


def external(row: ExternalJob) -> dict[str, Any]:
    """A piece of work done elsewhere, as JSON."""
    return {
        "app_id": row.app_id,
        "job_id": row.job_id,
        "title": row.title,
        "status": str(row.status),
        "progress": row.progress,
        "eta_seconds": row.eta_seconds,
        "message": row.message,
        "user_id": row.user_id,
        "revision": row.revision,
        "updated_at": iso(row.updated_at),
        "finished_at": iso(row.finished_at),
    }


def of_external(row: ExternalJob) -> Fact:
    """The news of work done elsewhere."""
    body = dumps({"name": "external_job_update", "external": external(row)})
    return _addressed(f"external:{row.pk}", row.revision, row.user_id, row.app_id, body, body)


def of_app_event(row: AppEvent) -> Fact:
    """What an app tells a user."""
    told = {
        "name": "app_entity",
        "id": str(row.pk),
        "app_id": row.app_id,
        "kind": row.kind,
        "scope": row.scope,
        "payload": row.payload,
    }
    hidden = dumps({**told, "payload": None})
    return _addressed(f"event:{row.pk}", 1, row.user_id, row.app_id, dumps(told), hidden)


def _addressed(key: str, revision: int, user_id: str, app_id: str, whole: str, hidden: str) -> Fact:
    about = (f"app:{app_id}", *((f"user:{user_id}",) if user_id else ()))
    bodies = {True: whole, False: hidden}
    return Fact(key, revision, revision, about, user_id, app_id, bodies, addressed=True)
