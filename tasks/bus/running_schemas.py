"""What the methods for those who run jobs take and give."""

from __future__ import annotations

from typing import Annotated, Any, Literal
from uuid import UUID

from pydantic import BeforeValidator, Field, StringConstraints, WithJsonSchema

from tasks.bus.job_schemas import CreateIn
from tasks.bus.schemas import (
    LINE,
    Amount,
    CancelWish,
    Input,
    JobId,
    JobOutput,
    JobType,
    Key,
    Label,
    Output,
    Priority,
    Queue,
    Seconds,
    State,
    Text,
)

MOST_CHILDREN = 10_000
MOST_CLAIMED = 100
MOST_RUNNING = 10_000
MOST_TYPES = 200
LONGEST_WAIT_SECONDS = 30.0


def _runner_id(value: Any) -> Any:
    try:
        return UUID(value if isinstance(value, str) and len(value) == 36 else "")
    except ValueError:
        raise ValueError("expected a UUID that this incarnation of the sidecar has made for itself") from None


RunnerId = Annotated[UUID, BeforeValidator(_runner_id), WithJsonSchema({"type": "string", "format": "uuid"})]
Lease = Annotated[int, Field(ge=0, le=2**63 - 1)]
Name = Annotated[str, StringConstraints(min_length=1, max_length=100, pattern=LINE)]
Sentence = Annotated[str, StringConstraints(max_length=500, pattern=r"^[^\x00]*$")]
Reason = Annotated[str, StringConstraints(max_length=200, pattern=LINE)]
Count = Annotated[int, Field(ge=-(2**63), le=2**63 - 1)]
Positive = Annotated[float, Field(gt=0, le=31_536_000, allow_inf_nan=False)]


# -- bindings ----------------------------------------------------------------------------------------


class SpecIn(Input):
    """What is declared about the type; lengths are seconds. ``params_schema`` is a JSON Schema of the params, kept
    strictly; ``continuation``: jobs with children run once more when those have ended."""

    queue: Queue | None = None
    priority: Priority | None = None
    max_attempts: Annotated[int, Field(ge=1, le=1000)] | None = None
    backoff: Seconds | Annotated[list[Seconds], Field(min_length=1, max_length=1000)] | None = None
    timeout: Positive | None = None
    soft_timeout: Positive | None = None
    cancel_grace: Positive | None = None
    exclusive: bool | None = None
    max_concurrency: Annotated[int, Field(ge=1, le=2**31 - 1)] | None = None
    concurrency_key: Key | None = None
    concurrency_limit: Annotated[int, Field(ge=1, le=2**31 - 1)] | None = None
    dedupe_key: Key | None = None
    dedupe: Literal["alias", "keep_latest", "reject"] | None = None
    preemptible: bool | None = None
    on_interrupt: Literal["resume", "cancel"] | None = None
    retention: Positive | None = None
    public_params: Annotated[list[Name], Field(max_length=100)] | None = None
    description: Sentence | None = None
    confirm: Sentence | None = None
    crash_budget: Annotated[int, Field(ge=1, le=1000)] | None = None
    params_schema: dict[str, Any] | None = None
    continuation: bool | None = None


class RegisterIn(Input):
    """A job type that ``service`` of this app runs. ``method``: its name there, the type's without one. ``url``: where
    it is called, for ``http`` alone; an operator approves it first."""

    job_type: JobType
    service: Name
    method: Name | None = None
    transport: Literal["claim", "http", "celery"] = "claim"
    url: (
        Annotated[str, StringConstraints(max_length=500, pattern=r"^https?://[^\s\x00-\x1f\x7f]+$")] | None
    ) = None
    spec: SpecIn = SpecIn()


class Handler(Output):
    """A bound type. ``approved``: an operator lets the platform call its ``url``."""

    app_id: str
    job_type: str
    service: str
    method: str
    transport: str
    url: str | None
    approved: bool
    enabled: bool
    revision: int
    queue: str
    spec: dict[str, Any]


class RegisterOut(Output):
    """The binding; ``signing_secret``, for ``http`` alone, is what its calls are signed with."""

    handler: Handler
    signing_secret: str | None


class UnregisterIn(Input):
    """The type that is given up."""

    job_type: JobType


# -- claim and heartbeat -----------------------------------------------------------------------------


class Held(Input):
    """A run, by its job and lease."""

    id: JobId
    lease: Lease


class ClaimIn(Input):
    """``runner_id``: a UUID that the sidecar makes at each start; ``limit``: how many jobs it takes now; ``capacity``:
    how many it runs at once, ``limit`` without one; ``wait_seconds``: how long to wait for the first."""

    runner_id: RunnerId
    job_types: Annotated[list[JobType], Field(min_length=1, max_length=MOST_TYPES)]
    name: Name | None = None
    version: Annotated[str, StringConstraints(max_length=100, pattern=LINE)] | None = None
    limit: Annotated[int, Field(ge=1, le=MOST_CLAIMED)] = 1
    capacity: Annotated[int, Field(ge=1, le=MOST_RUNNING)] | None = None
    wait_seconds: Annotated[float, Field(ge=0, le=LONGEST_WAIT_SECONDS)] = 0.0


class ChildOut(Output):
    """How a child has ended."""

    key: str
    id: str
    state: State
    result: Any
    error: str
    data: dict[str, Any]


class Delivery(Output):
    """A run that has begun. ``cursor``: the last checkpoint; ``continuing``: its ``children`` have ended, this run goes
    on after them; ``deadline_at``: it is given up then; ``cancel_grace_seconds``: it is given up so long after a cancel
    that it did not follow."""

    job: JobOutput
    lease: int
    cursor: Any
    attempt: int
    run_reason: str
    force: bool
    planned_at: str | None
    window_start: str | None
    continuing: bool
    children: list[ChildOut]
    deadline_at: str | None
    cancel_grace_seconds: float
    method: str


class ClaimOut(Output):
    """The runs; none after the wait is no error. The sidecar is taken for dead when nothing is heard of it for
    ``lease_seconds``; it should beat every ``heartbeat_seconds``."""

    jobs: list[Delivery]
    lease_expires_at: str
    heartbeat_seconds: float
    lease_seconds: float


class HeartbeatIn(Input):
    """All runs that the sidecar works on. ``stopping``: it takes nothing new."""

    runner_id: RunnerId
    running: Annotated[list[Held], Field(max_length=MOST_RUNNING)] = []
    stopping: bool = False


class RunStanding(Output):
    """``held`` false: it is the sidecar's no more, what it still writes is refused. ``cancel``: why to stop it."""

    id: str
    lease: int
    held: bool
    cancel: CancelWish | None


class HeartbeatOut(Output):
    """Each of the runs that were named, in their order."""

    runs: list[RunStanding]
    lease_expires_at: str


# -- one run -----------------------------------------------------------------------------------------


class Completed(Input):
    """It is done; a job with open children waits for them."""

    kind: Literal["completed"]
    result: Any = None
    count: Count | None = None
    extra: dict[str, Any] | None = None


class Failed(Input):
    """An attempt is used; ``retryable`` false: never again."""

    kind: Literal["failed"]
    error: Text
    error_type: Reason = ""
    traceback: Text = ""
    retryable: bool = True


class Retry(Input):
    """Again after so many seconds, by the type's backoff without; an attempt is used."""

    kind: Literal["retry"]
    after: Seconds | None = None
    error: Text = ""


class Snooze(Input):
    """Again after so many seconds; no attempt is used."""

    kind: Literal["snooze"]
    seconds: Seconds
    reason: Reason = ""


class Discarded(Input):
    """The work is not wanted any more."""

    kind: Literal["discarded"]
    reason: Reason = ""


class Paused(Input):
    """Until somebody resumes it; ``retryable``: or by backoff."""

    kind: Literal["paused"]
    reason: Reason = ""
    retryable: bool = False


class DeferredEnding(Input):
    """It will be finished later, by another update under the same lease; once more: a new deadline."""

    kind: Literal["deferred"]
    deadline_seconds: Positive | None = None


class Cancelled(Input):
    """It has stopped because it was asked to; where it goes, the reason says that it was asked with."""

    kind: Literal["cancelled"]


class Interrupted(Input):
    """It has stopped by itself (the sidecar ends): back to pending with its checkpoint, no attempt is used."""

    kind: Literal["interrupted"]
    reason: Reason = ""


AnyEnding = Annotated[
    Completed | Failed | Retry | Snooze | Discarded | Paused | DeferredEnding | Cancelled | Interrupted,
    Field(discriminator="kind"),
]


class UpdateStatusIn(Held):
    """The end of a run."""

    ending: AnyEnding


class UpdateStatusOut(Output):
    """The job's state now. ``lease_expires_at``: of a deferred job its deadline; the lease of others is over."""

    state: State
    cancel: CancelWish | None
    lease_expires_at: str | None


class UpdateProgressIn(Held):
    """How far it is; a ``total`` below ``done`` is raised to it."""

    done: Amount
    total: Amount | None = None
    label: Label = ""


class CheckpointIn(Held):
    """Where the next run would go on: any JSON value."""

    cursor: Any


class MergeDataIn(Held):
    """Values to put over the job's data."""

    data: dict[str, Any]


class LeaseOut(Output):
    """Why the run should stop, and until when its lease holds if nothing more is heard of it."""

    cancel: CancelWish | None
    lease_expires_at: str | None


class MergeDataOut(LeaseOut):
    """The same, with the whole data."""

    data: dict[str, Any]


class BatchChildrenIn(Held):
    """Children, each unique by its ``child_key`` (its place in the list without one): a run that says it again gets
    those that are there. ``ignore_failures``: failed children do not fail the job."""

    children: Annotated[list[CreateIn], Field(min_length=1, max_length=MOST_CHILDREN)]
    ignore_failures: bool = False


class BatchChildrenOut(LeaseOut):
    """The ids of all children, in order."""

    ids: list[str]
