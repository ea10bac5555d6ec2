"""What goes over the bus: strict types; unknown fields are refused; instants have a zone; ids are strings."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Annotated, Any, Literal
from uuid import UUID

from pydantic import BaseModel, BeforeValidator, ConfigDict, Field, StringConstraints, WithJsonSchema

LINE = r"^[^\x00-\x1f\x7f]*$"
"""Text without control characters."""


class Input(BaseModel):
    """Base of everything that is sent to the bus."""

    model_config = ConfigDict(extra="forbid", strict=True, frozen=True, hide_input_in_errors=True)


class Output(BaseModel):
    """Base of everything that is answered."""

    model_config = ConfigDict(extra="forbid")


def _instant(value: Any) -> Any:
    if not isinstance(value, str):
        raise ValueError("expected an instant as text, such as 2026-01-31T12:00:00Z")
    try:
        found = datetime.fromisoformat(value)
    except ValueError:
        raise ValueError("expected an ISO 8601 instant, such as 2026-01-31T12:00:00Z") from None
    if found.tzinfo is None:
        raise ValueError("expected a time zone, such as Z or +02:00")
    try:
        # PostgreSQL refuses displacements that Python knows.
        in_utc = found.astimezone(UTC)
    except OverflowError:
        in_utc = datetime.min.replace(tzinfo=UTC)
    if not 1 < in_utc.year < 9999:
        raise ValueError("expected an instant between the years 2 and 9998")
    return in_utc


def _job_id(value: Any) -> Any:
    try:
        return UUID(value if isinstance(value, str) and len(value) == 36 else "")
    except ValueError:
        raise ValueError(
            "expected the id of a job, a UUID such as 01890a5d-ac96-774b-bcce-b302099a8057"
        ) from None


Instant = Annotated[
    datetime, BeforeValidator(_instant), WithJsonSchema({"type": "string", "format": "date-time"})
]
JobId = Annotated[UUID, BeforeValidator(_job_id), WithJsonSchema({"type": "string", "format": "uuid"})]
JobType = Annotated[str, StringConstraints(min_length=1, max_length=200, pattern=r"^[^\x00-\x1f\x7f:]+$")]
Queue = Annotated[str, StringConstraints(pattern=r"^[A-Za-z0-9_.-]{1,100}$")]
Key = Annotated[str, StringConstraints(min_length=1, max_length=255, pattern=LINE)]
PersonId = Annotated[str, StringConstraints(max_length=100, pattern=LINE)]
Label = Annotated[str, StringConstraints(max_length=200, pattern=LINE)]
Text = Annotated[str, StringConstraints(max_length=65_536)]
Seconds = Annotated[float, Field(ge=0, le=31_536_000, allow_inf_nan=False)]
Amount = Annotated[float, Field(ge=0, le=1e15, allow_inf_nan=False)]
Percent = Annotated[float, Field(ge=0, le=100, allow_inf_nan=False)]
Priority = (
    Annotated[int, Field(ge=0, le=4999)]
    | Literal["BACKGROUND", "NORMAL", "USER_ACTION", "background", "normal", "user_action"]
)
"""URGENT, from 5000 on, is the platform's own."""

State = Literal["pending", "dispatched", "running", "waiting", "paused", "completed", "failed", "cancelled"]
EndedState = Literal["completed", "failed", "cancelled"]
CancelWish = Literal["user", "superseded", "preempted", "suspended", "shutdown", "timeout"]


class Nothing(Output):
    """Done; there is nothing to tell."""


class Progress(Output):
    """How far a job is."""

    done: float | None
    total: float | None
    label: str
    pct: float | None
    eta_seconds: float | None


class JobError(Output):
    """Why a job failed."""

    type: str
    message: str


class JobOutput(Output):
    """A job, in the one shape that it has everywhere. Instants are in UTC."""

    id: str
    app_id: str
    job_type: str
    status: State
    reason: str
    cause: str
    attempt: int
    lease: int
    priority: int
    queue: str
    user_id: str
    tenant_id: str
    params: dict[str, Any]
    data: dict[str, Any]
    progress: Progress
    result: Any
    error: JobError | None
    parent_id: str | None
    alias_job_id: str | None
    dedupe_key: str | None
    schedule_id: str | None
    planned_at: str | None
    run_after: str | None
    created_at: str
    started_at: str | None
    finished_at: str | None


class Problem(Output):
    """What went wrong, by a code of the closed list."""

    code: str
    message: str
    details: dict[str, Any]


class ErrorOutput(Output):
    """The one shape of all errors."""

    error: Problem
