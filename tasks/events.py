"""Facts about jobs, emitted after commit (``jobsplatform.kernel.events.emit``)."""

from __future__ import annotations

from dataclasses import field
from typing import Any
from uuid import UUID

from jobsplatform.kernel.events import event


@event
class JobSubmitted:
    """A job row came to be. ``status``: created, alias or successor."""

    job_id: UUID
    handler_key: str
    queue: str
    status: str
    user_id: str = ""
    tenant_id: str = ""


@event
class JobMoved:
    """A job made the move named ``move`` (``tasks.states.MOVES``) and is now in ``state``."""

    job_id: UUID
    handler_key: str
    move: str
    state: str
    lease: int
    queue: str = ""
    reason: str = ""
    cause: str = ""
    worker_id: UUID | None = None
    parent_id: UUID | None = None


@event
class RunStarted:
    """A run began. ``waited_ms``: from the time it might have started."""

    job_id: UUID
    app_id: str
    job_type: str
    lease: int
    attempt: int
    priority: int
    waited_ms: float


@event
class RunEnded:
    """A run ended. ``outcome``: ok, paused, err (with ``cause``), or the name of another move."""

    job_id: UUID
    app_id: str
    job_type: str
    lease: int
    attempt: int
    outcome: str
    move: str
    state: str
    cause: str = ""
    count: int | None = None
    elapsed_ms: float = 0.0
    extra: dict[str, Any] | None = None
    error: str = ""
    error_type: str = ""
    retryable: bool = False
    retry_in: float | None = None  # seconds until it may run again
    reason: str = ""
    priority: int = 0


@event
class LeaseRejected:
    """A writer came with a lease that no longer holds; nothing was changed. ``where``: what it wanted."""

    job_id: UUID
    lease: int
    where: str


@event
class TickSkipped:
    """An exclusive type's live tick or manual trigger found an unfinished job. ``interval_ms`` 0: on demand."""

    job: str
    interval_ms: int
    running_for_ms: int
    job_id: UUID | None = None


@event
class CancelRequested:
    """A running job was asked to stop."""

    job_id: UUID
    handler_key: str
    reason: str


@event
class CancelSeen:
    """A run that was asked to stop has ended. ``latency_ms``: from the request to the end."""

    job_id: UUID
    handler_key: str
    reason: str
    latency_ms: float


@event
class ProgressMade:
    """A run's progress was written."""

    job_id: UUID
    handler_key: str


@event
class ExternalJobChanged:
    """Work that is done elsewhere was told of. ``external_id``: of its row."""

    external_id: int
    app_id: str
    user_id: str


@event
class AppEventTold:
    """An app told one user something. ``event_id``: of its row."""

    event_id: int
    app_id: str
    user_id: str
    kind: str


@event
class SuspensionChanged:
    """A suspension was made (``open``) or lifted."""

    scope: str
    target: str
    open: bool
    author: str
    reason: str = ""


@event
class WorkerLost:
    """An incarnation stopped beating; its jobs were taken back."""

    process_id: UUID
    name: str
    jobs: int
    facts: dict[str, Any] = field(default_factory=dict)
