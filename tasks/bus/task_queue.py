"""``task_queue``: work that the platform does not run, shown beside the jobs that it does."""

from __future__ import annotations

from typing import Annotated, Any, Literal

from pydantic import Field, StringConstraints

from jobsplatform.kernel import clock
from tasks import external
from tasks.bus.calls import Call, Method
from tasks.bus.schemas import LINE, Input, Output, Percent, PersonId
from tasks.external import Snapshot

OwnId = Annotated[str, StringConstraints(min_length=1, max_length=200, pattern=LINE)]
Title = Annotated[str, StringConstraints(max_length=300, pattern=LINE)]
Message = Annotated[str, StringConstraints(max_length=500, pattern=r"^[^\x00]*$")]
Eta = Annotated[float, Field(ge=0, le=1e9, allow_inf_nan=False)]
Status = Literal["pending", "running", "completed", "failed", "cancelled"]


class UpsertIn(Input):
    """The whole of what is known; what is left out stays as it was. ``job_id``: the app's own id of it."""

    job_id: OwnId
    title: Title | None = None
    status: Status | None = None
    progress: Percent | None = None
    eta_seconds: Eta | None = None
    message: Message | None = None
    user_id: PersonId | None = None


class UpdateProgressIn(Input):
    """``progress`` in percent."""

    job_id: OwnId
    progress: Percent
    eta_seconds: Eta | None = None
    message: Message | None = None


class CompleteIn(Input):
    """How it ended."""

    job_id: OwnId
    status: Literal["completed", "failed", "cancelled"] = "completed"
    message: Message | None = None


class ExternalOutput(Output):
    """Work that is done elsewhere, as it was last told. It is gone at ``expires_at``."""

    job_id: str
    app_id: str
    title: str
    status: Status
    progress: float | None
    eta_seconds: float | None
    message: str
    user_id: str
    revision: int
    created_at: str
    updated_at: str
    finished_at: str | None
    expires_at: str


class ExternalOut(Output):
    """It, as it is now."""

    job: ExternalOutput


def upsert_job(call: Call, given: UpsertIn) -> dict[str, Any]:
    """Show a piece of work, or say more of it."""
    told = Snapshot(**given.model_dump(exclude={"job_id"}, exclude_none=True))
    row = external.upsert(call.app_id, given.job_id, told, actor=call.actor, now=clock.now())
    return {"job": external.output(row)}


def update_progress(call: Call, given: UpdateProgressIn) -> dict[str, Any]:
    """How far it is. NOT_FOUND before the first ``upsert_job``."""
    told = Snapshot(**given.model_dump(exclude={"job_id"}, exclude_none=True))
    row = external.update(call.app_id, given.job_id, told, now=clock.now())
    return {"job": external.output(row)}


def complete_job(call: Call, given: CompleteIn) -> dict[str, Any]:
    """It has ended; nothing changes it any more."""
    told = Snapshot(**given.model_dump(exclude={"job_id"}, exclude_none=True))
    row = external.complete(call.app_id, given.job_id, told, actor=call.actor, now=clock.now())
    return {"job": external.output(row)}


METHODS = (
    Method(
        "task_queue.upsert_job",
        "external:write",
        UpsertIn,
        ExternalOut,
        upsert_job,
        "Show work that is done elsewhere.",
        quota="task_queue",
    ),
    Method(
        "task_queue.update_progress",
        "external:write",
        UpdateProgressIn,
        ExternalOut,
        update_progress,
        "How far such work is.",
        quota="task_queue",
    ),
    Method(
        "task_queue.complete_job",
        "external:write",
        CompleteIn,
        ExternalOut,
        complete_job,
        "Such work has ended.",
        quota="task_queue",
    ),
)
