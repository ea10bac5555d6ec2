"""What the methods of ``jobs`` take and give, save those of runners."""

from __future__ import annotations

from typing import Annotated, Any, Literal

from pydantic import Field

from tasks.bus.schemas import (
    EndedState,
    Input,
    Instant,
    JobId,
    JobOutput,
    JobType,
    Key,
    Output,
    PersonId,
    Priority,
    Queue,
    State,
)

MOST_JOBS = 1000
MOST_IDS = 200
MOST_DATA_KEYS = 20


class CreateIn(Input):
    """A job to be made. What is left out is what the handler declares."""

    job_type: JobType
    params: dict[str, Any] = {}
    data: dict[str, Any] = {}
    queue: Queue | None = None
    priority: Priority | None = None
    run_after: Instant | None = None
    latest_start_at: Instant | None = None
    user_id: PersonId | None = None
    tenant_id: PersonId | None = None
    dedupe_key: Key | None = None
    dedupe: Literal["alias", "keep_latest", "reject"] | None = None
    idempotency_key: Key | None = None
    max_attempts: Annotated[int, Field(ge=1, le=1000)] | None = None
    parent_id: JobId | None = None
    child_key: Key | None = None


class CreateManyIn(Input):
    """Jobs to be made, all or none."""

    jobs: Annotated[list[CreateIn], Field(min_length=1, max_length=MOST_JOBS)]


class Made(Output):
    """What became of a wish: ``alias`` and ``successor`` of the job ``alias_job_id``, ``replayed``: it was there."""

    id: str
    status: Literal["created", "alias", "successor", "replayed"]
    alias_job_id: str | None


class CreateOut(Made):
    """The same, with the job."""

    job: JobOutput


class CreateManyOut(Output):
    """One result a job, in their order."""

    results: list[Made]


class _Filter(Input):
    ids: Annotated[list[JobId], Field(min_length=1, max_length=MOST_JOBS)] | None = None
    types: Annotated[list[JobType], Field(min_length=1, max_length=100)] | None = None
    tenant_id: PersonId | None = None
    queue: Queue | None = None
    parent: JobId | None = None
    user: PersonId | None = None
    dedupe_key: Key | None = None
    schedule_id: Key | None = None
    priority_min: Annotated[int, Field(ge=0, le=9999)] | None = None
    priority_max: Annotated[int, Field(ge=0, le=9999)] | None = None
    created_after: Instant | None = None
    created_before: Instant | None = None
    finished_after: Instant | None = None
    finished_before: Instant | None = None
    data: Annotated[dict[str, Any], Field(max_length=MOST_DATA_KEYS)] | None = None


class Filter(_Filter):
    """Jobs that match all that is given. ``_after`` is inclusive, ``_before`` exclusive; ``data``: up to 20 keys of
    the top level."""

    states: Annotated[list[State], Field(min_length=1)] | None = None


class EndedFilter(_Filter):
    """The same, among jobs that have ended."""

    states: Annotated[list[EndedState], Field(min_length=1)] | None = None


class QueryIn(Input):
    """One job by ``id``, several by ``ids``, or a page of those that match ``filter`` (all, without one)."""

    id: JobId | None = None
    ids: Annotated[list[JobId], Field(min_length=1, max_length=MOST_IDS)] | None = None
    filter: Filter | None = None
    after: JobId | None = None
    limit: Annotated[int, Field(ge=1, le=200)] = 50


class QueryOut(Output):
    """Jobs, the newest first; ``next`` is the ``after`` of the following page. A page of large jobs has fewer than
    were asked for; so may one of ``ids``."""

    jobs: list[JobOutput]
    next: str | None


class CancelIn(Input):
    """``cascade``: its descendants too."""

    id: JobId
    cascade: bool = False


class CancelOut(Output):
    """``how``: at once, asked to stop, or nothing to do any more. ``children``: how many of them changed."""

    how: Literal["cancelled", "requested", "already_requested", "already_ended"]
    children: int
    job: JobOutput


class CancelByFilterIn(Input):
    """``dry_run`` only counts."""

    filter: Filter
    dry_run: bool = False


class CleanupIn(Input):
    """Ended jobs that match are removed before their retention has passed; ``dry_run`` only counts."""

    filter: EndedFilter
    dry_run: bool = False


class CountOut(Output):
    """How many jobs changed, or would."""

    count: int


class SummaryIn(Input):
    """The children of ``parent_id``, or the jobs that match ``filter``."""

    parent_id: JobId | None = None
    filter: Filter | None = None


class SummaryOut(Output):
    """``done``: how many have ended; ``pct``: 0 to 100, null when there are none."""

    total: int
    by_state: dict[State, int]
    done: int
    pct: float | None


class PreemptIn(Input):
    """Running jobs of ``job_types`` (of the type of ``by``, without) that are older than ``by`` give way to it."""

    by: JobId
    job_types: Annotated[list[JobType], Field(min_length=1, max_length=100)] | None = None


class PreemptOut(Output):
    """The jobs that were asked to stop; they go on later, from their checkpoints."""

    preempted: list[str]
