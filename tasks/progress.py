"""How far a run is, and how long it may still take."""

from __future__ import annotations

from datetime import datetime
from typing import Any

from tasks.models import Job
from tasks.states import State


def percent(done: float | None, total: float | None) -> float | None:
    """0-100, or None when the total is not known."""
    if done is None or not total or total <= 0:
        return None
    return round(min(100.0, max(0.0, 100.0 * done / total)), 1)


def rate(job: Job) -> float | None:
    """Items a second of the current run, up to its last progress; None when it cannot be told."""
    if job.started_at is None or job.progress_at is None or not job.progress_done:
        return None
    seconds = (job.progress_at - job.started_at).total_seconds()
    return job.progress_done / seconds if seconds > 0 else None


def eta_seconds(job: Job, now: datetime | None = None, usual_seconds: float | None = None) -> float | None:
    """Seconds a running job may still take: by its own rate, else by how long its type usually takes."""
    if job.state != State.RUNNING:
        return None
    speed = rate(job)
    if speed and job.progress_total and job.progress_done is not None and job.progress_at is not None:
        left = max(0.0, job.progress_total - job.progress_done) / speed
        return round(max(0.0, left - ((now - job.progress_at).total_seconds() if now else 0.0)), 1)
    if usual_seconds is not None and now is not None and job.started_at is not None:
        return round(max(0.0, usual_seconds - (now - job.started_at).total_seconds()), 1)
    return None


def usual_seconds(handler_key: str, sample: int = 20) -> float | None:
    """The median length of the type's last completed runs, in seconds; None without any."""
    rows = Job.objects.filter(handler_key=handler_key, state=State.COMPLETED, started_at__isnull=False)
    ended = rows.order_by("-id").values_list("started_at", "finished_at")[:sample]
    lengths = sorted((end - start).total_seconds() for start, end in ended if end and start)
    return lengths[len(lengths) // 2] if lengths else None


def of(job: Job, now: datetime | None = None) -> dict[str, Any]:
    """The ``progress`` of a JobOutput."""
    history = None
    if now is not None and job.state == State.RUNNING and not job.progress_total:
        history = usual_seconds(job.handler_key)
    return {
        "done": job.progress_done,
        "total": job.progress_total,
        "label": job.progress_label,
        "pct": 100.0 if job.state == State.COMPLETED else percent(job.progress_done, job.progress_total),
        "eta_seconds": eta_seconds(job, now, history),
    }
