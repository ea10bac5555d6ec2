"""The shapes of what live pages send and are sent, as one JSON Schema: the TypeScript types are made from it.

``python -m tasks.live.schema FILE`` writes it. A page must ignore fields, frames and events that it does not
know, so that a newer server can add some.
"""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Annotated, Any, Literal, NotRequired

from pydantic import Field, TypeAdapter
from typing_extensions import TypedDict

VERSION = 1
"""Of the wire; a change that older pages cannot ignore counts it up."""

Instant = Annotated[str, Field(description="ISO 8601, UTC.", json_schema_extra={"format": "date-time"})]
Status = Literal["pending", "dispatched", "running", "waiting", "paused", "completed", "failed", "cancelled"]
ExternalStatus = Literal["pending", "running", "completed", "failed", "cancelled"]


class Progress(TypedDict):
    """How far a run is. ``pct`` is 0 to 100, null while the total is not known."""

    done: float | None
    total: float | None
    label: str
    pct: float | None
    eta_seconds: float | None


class JobError(TypedDict):
    """Why a run ended badly."""

    type: str
    message: str


class JobOutput(TypedDict):
    """A job. Without the right to see payloads, ``params``, ``data`` and ``result`` hold public parts only."""

    id: str
    app_id: str
    job_type: str
    status: Status
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
    planned_at: Instant | None
    run_after: Instant | None
    created_at: Instant | None
    started_at: Instant | None
    finished_at: Instant | None
    truncated: NotRequired[
        Annotated[
            list[str], Field(description="Which of params, data and result are too large to be pushed.")
        ]
    ]


class JobRow(TypedDict):
    """A job and the count of writes to its row: of two, the one with the higher revision is newer."""

    revision: int
    job: JobOutput


class ExternalJob(TypedDict):
    """The last word on a piece of work that runs elsewhere. ``progress`` is 0 to 100."""

    app_id: str
    job_id: str
    title: str
    status: ExternalStatus
    progress: float | None
    eta_seconds: float | None
    message: str
    user_id: str
    revision: NotRequired[int]
    updated_at: NotRequired[Instant | None]
    finished_at: NotRequired[Instant | None]


class RunningJob(TypedDict):
    """A run that is on its way. ``actor``: who asked for it."""

    app_id: str
    job_type: str
    job_id: str
    started_at: Instant | None
    actor: str


class JobUpdate(TypedDict):
    """A job was made or changed."""

    name: Literal["job_update"]
    revision: int
    job: JobOutput


class ExternalJobUpdate(TypedDict):
    """A piece of work elsewhere was told of."""

    name: Literal["external_job_update"]
    external: ExternalJob


class AppEntity(TypedDict):
    """Something that an app tells one user; the platform does not read ``payload``."""

    name: Literal["app_entity"]
    id: str
    app_id: str
    kind: str
    scope: str
    payload: Any


class AppsChanged(TypedDict):
    """An app was added, changed or removed."""

    name: Literal["apps_changed"]
    apps: NotRequired[list[str]]


class OpenSuspension(TypedDict):
    """Something that starts nothing for now."""

    scope: str
    target: str
    author: str


class SuspensionsChanged(TypedDict):
    """Other suspensions are in force than before. ``open``: all that are now."""

    name: Literal["suspensions_changed"]
    open: list[OpenSuspension]


class JobRunStarted(TypedDict):
    """A run began. ``actor``: who asked for it."""

    name: Literal["job_run_started"]
    app_id: str
    job_type: str
    job_id: str
    started_at: Instant | None
    actor: str


class JobRunEnded(TypedDict):
    """A run ended."""

    name: Literal["job_run_ended"]
    app_id: str
    job_type: str
    job_id: str
    success: bool
    reason: str
    ended_at: Instant | None


class ScheduleUpdate(TypedDict):
    """A schedule was changed or decided on a slot."""

    name: Literal["schedule_update"]
    schedule_id: str
    revision: NotRequired[int]
    state: NotRequired[str]
    fault: NotRequired[str]
    next_slot_at: NotRequired[Instant | None]
    last_fired_at: NotRequired[Instant | None]
    last: NotRequired[Any]


class JobGone(TypedDict):
    """A job's row is no more: it was kept long enough."""

    name: Literal["job_gone"]
    id: str


LiveEvent = (
    JobUpdate
    | ExternalJobUpdate
    | AppEntity
    | AppsChanged
    | SuspensionsChanged
    | JobRunStarted
    | JobRunEnded
    | ScheduleUpdate
    | JobGone
)


class Since(TypedDict):
    """The last frame that a page has of a topic."""

    epoch: str
    seq: int


class Subscribe(TypedDict):
    """Hear of a topic from now on, after a snapshot or what was missed. Again with one ``sub``: a new snapshot."""

    type: Literal["subscribe"]
    sub: str
    topic: str
    snapshot: bool
    limit: int
    since: NotRequired[Since]
    after_event: NotRequired[
        Annotated[
            str, Field(description="Also what apps have told since this app_entity, beside a snapshot.")
        ]
    ]


class Unsubscribe(TypedDict):
    """Hear no more of it."""

    type: Literal["unsubscribe"]
    sub: str


class Replay(TypedDict):
    """The events after ``after`` again."""

    type: Literal["replay"]
    sub: str
    after: int


class Ping(TypedDict):
    """Is somebody there?"""

    type: Literal["ping"]


class Hello(TypedDict):
    """The first frame. ``epoch``: of this server process; sequence numbers hold within one."""

    type: Literal["hello"]
    version: int
    epoch: str
    beat_seconds: float


class Snapshot(TypedDict):
    """What a topic holds at ``seq``: the ``limit`` newest; all of them when ``complete``."""

    type: Literal["snapshot"]
    sub: NotRequired[str]
    seq: NotRequired[int]
    complete: NotRequired[bool]
    jobs: list[JobRow]
    external: NotRequired[list[ExternalJob]]
    running: NotRequired[list[RunningJob]]
    events: NotRequired[
        Annotated[list[AppEntity], Field(description="What was told since `after_event`, in order.")]
    ]
    last_event_id: NotRequired[
        Annotated[str, Field(description="Of the newest app_entity: later ones come as events.")]
    ]


class EventFrame(TypedDict):
    """Something happened. ``seq`` counts by one within a topic and an epoch."""

    type: Literal["event"]
    sub: str
    seq: int
    event: LiveEvent


class Beat(TypedDict):
    """Sent each ``beat_seconds``: the last sequence number of every subscription."""

    type: Literal["beat"]
    heads: dict[str, int]


class Resync(TypedDict):
    """Too much was missed: ask for a snapshot."""

    type: Literal["resync"]
    sub: str


class ErrorFrame(TypedDict):
    """What was asked for was refused."""

    type: Literal["error"]
    sub: NotRequired[str | None]
    code: str
    message: str


class Pong(TypedDict):
    """Yes."""

    type: Literal["pong"]


ClientFrame = Subscribe | Unsubscribe | Replay | Ping
ServerFrame = Hello | Snapshot | EventFrame | Beat | Resync | ErrorFrame | Pong


class Wire(TypedDict):
    """Everything that may be on the wire, by direction."""

    client: ClientFrame
    server: ServerFrame


def schema() -> dict[str, Any]:
    """The JSON Schema of both directions; each shape is a definition of its own."""
    made = TypeAdapter(Wire).json_schema()
    return {
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "title": "Live wire",
        "version": VERSION,
        "$defs": dict(sorted(made["$defs"].items())),
        "properties": made["properties"],
    }


def text() -> str:
    """The schema as it is written into the SDK."""
    return json.dumps(schema(), indent=2, ensure_ascii=False) + "\n"


if __name__ == "__main__":
    for name in sys.argv[1:]:
        Path(name).write_text(text(), encoding="utf-8")
    if not sys.argv[1:]:
        print(text(), end="")
