"""Create, follow and run background jobs of a JobsPlatform from any Python process, over its bus."""

from __future__ import annotations

from jobsplatform_sdk.client import AsyncClient, Client
from jobsplatform_sdk.context import Child, JobContext
from jobsplatform_sdk.errors import BusError
from jobsplatform_sdk.outcomes import (
    Deferred,
    Discard,
    Fail,
    JobCancelled,
    LeaseLost,
    Outcome,
    Pause,
    Retry,
    Snooze,
)
from jobsplatform_sdk.run_shapes import ChildResult
from jobsplatform_sdk.shapes import Job
from jobsplatform_sdk.sidecar import Sidecar
from jobsplatform_sdk.wire import VERSION as __version__

__all__ = [
    "AsyncClient",
    "BusError",
    "Child",
    "ChildResult",
    "Client",
    "Deferred",
    "Discard",
    "Fail",
    "Job",
    "JobCancelled",
    "JobContext",
    "LeaseLost",
    "Outcome",
    "Pause",
    "Retry",
    "Sidecar",
    "Snooze",
    "__version__",
]
