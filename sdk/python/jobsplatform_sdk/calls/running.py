"""The ``jobs`` service, for those who run jobs. Each write carries the lease of its run, and its answer says
whether the run should stop."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from jobsplatform_sdk.calls.call import Call, given
from jobsplatform_sdk.run_shapes import Beat, Claimed, Written


def claim(
    runner_id: str,
    job_types: Sequence[str],
    *,
    limit: int = 1,
    capacity: int | None = None,
    wait_seconds: float = 0,
    name: str | None = None,
    version: str | None = None,
) -> Call[Claimed]:
    """Take up to ``limit`` jobs of these types; waits up to ``wait_seconds`` (at most 30) for the first.

    ``runner_id``: a UUID of this incarnation of the sidecar. What is claimed and never named in a heartbeat is taken
    back, so that a lost answer loses no job.
    """
    body = {
        "runner_id": runner_id,
        "job_types": list(job_types),
        "limit": limit,
        "wait_seconds": wait_seconds,
        **given(capacity=capacity, name=name, version=version),
    }
    return Call("jobs.claim", body, Claimed.read, wait=wait_seconds)


def heartbeat(runner_id: str, running: Iterable[tuple[str, int]], *, stopping: bool = False) -> Call[Beat]:
    """Say that this sidecar lives and has these runs, (job id, lease) each."""
    body = {
        "runner_id": runner_id,
        "running": [{"id": job_id, "lease": lease} for job_id, lease in running],
        "stopping": stopping,
    }
    return Call("jobs.heartbeat", body, Beat.read)


def update_status(job_id: str, lease: int, ending: Mapping[str, Any]) -> Call[Written]:
    """End a run: ``{"kind": "completed", "result": …}`` and the like. Raises LeaseLost (also when said twice)."""
    return Call("jobs.update_status", {"id": job_id, "lease": lease, "ending": dict(ending)}, Written.read)


def update_progress(
    job_id: str, lease: int, done: float, total: float | None = None, label: str = ""
) -> Call[Written]:
    """How far a run is. Raises LeaseLost."""
    body = {"id": job_id, "lease": lease, "done": done, "label": label, **given(total=total)}
    return Call("jobs.update_progress", body, Written.read)


def checkpoint(job_id: str, lease: int, cursor: Any) -> Call[Written]:
    """Save where a later run goes on. Raises LeaseLost, TooLarge."""
    return Call("jobs.checkpoint", {"id": job_id, "lease": lease, "cursor": cursor}, Written.read)


def merge_data(job_id: str, lease: int, data: Mapping[str, Any]) -> Call[Written]:
    """Put values over the job's data; the answer has the whole. Raises LeaseLost, TooLarge."""
    return Call("jobs.merge_data", {"id": job_id, "lease": lease, "data": dict(data)}, Written.read)


def batch_children(
    job_id: str, lease: int, children: Sequence[Mapping[str, Any]], *, ignore_failures: bool = False
) -> Call[Written]:
    """Create up to 10,000 children; those with a ``child_key`` that is there already are not made again."""
    body = {
        "id": job_id,
        "lease": lease,
        "children": [dict(child) for child in children],
        "ignore_failures": ignore_failures,
    }
    keyed = all(child.get("child_key") for child in children)
    return Call("jobs.batch_children", body, Written.read, repeatable=keyed)
