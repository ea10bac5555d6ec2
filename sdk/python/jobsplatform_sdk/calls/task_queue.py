"""The ``task_queue`` service: work that the platform does not run, shown beside its jobs."""

from __future__ import annotations

from typing import Any, Literal

from jobsplatform_sdk.calls.call import Call, given


def upsert_job(
    job_id: str,
    *,
    title: str | None = None,
    status: str | None = None,
    progress: float | None = None,
    eta_seconds: float | None = None,
    message: str | None = None,
    user_id: str | None = None,
) -> Call[dict[str, Any]]:
    """Show a piece of work under the app's own ``job_id``, or bring it up to date. ``progress`` is 0 to 100."""
    body = given(
        job_id=job_id,
        title=title,
        status=status,
        progress=progress,
        eta_seconds=eta_seconds,
        message=message,
        user_id=user_id,
    )
    return Call("task_queue.upsert_job", body, _job)


def update_progress(
    job_id: str, progress: float, *, eta_seconds: float | None = None, message: str | None = None
) -> Call[dict[str, Any]]:
    """How far it is, 0 to 100. Raises NotFound, StateConflict for one that has ended."""
    body = given(job_id=job_id, progress=progress, eta_seconds=eta_seconds, message=message)
    return Call("task_queue.update_progress", body, _job)


def complete_job(
    job_id: str,
    *,
    status: Literal["completed", "failed", "cancelled"] = "completed",
    message: str | None = None,
) -> Call[dict[str, Any]]:
    """It has ended. Raises NotFound, StateConflict for one that has ended otherwise."""
    return Call("task_queue.complete_job", given(job_id=job_id, status=status, message=message), _job)


def _job(answer: Any) -> dict[str, Any]:
    return dict(answer["job"])
