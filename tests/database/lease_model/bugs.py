"""Mistakes, planted one at a time: each is one that a queue of this kind has been shipped with."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from datetime import datetime, timedelta
from typing import Any
from unittest.mock import patch
from uuid import UUID

from jobsplatform.kernel import clock
from tasks import finish, limits, registry, rescue, run, transitions
from tasks.models import DispatchLock, Job
from tasks.states import State


@contextmanager
def lease_not_checked_at_finish() -> Iterator[None]:
    """The end of a run is written whoever holds the job now."""
    sound = finish._finish

    def trusting(job_id: UUID, lease: int, *args: Any, **more: Any) -> Any:
        current = Job.objects.filter(id=job_id).values_list("lease", flat=True).first() or lease
        return sound(job_id, current, *args, **more)

    with patch.object(finish, "_finish", trusting):
        yield


@contextmanager
def rescue_by_age() -> Iterator[None]:
    """What runs for longer than a lease is taken to be lost too, heartbeats or not."""
    sound = rescue.rescue_dead

    def by_age(now: datetime, lease_seconds: float) -> int:
        old = Job.objects.filter(state=State.RUNNING, started_at__lte=now - timedelta(seconds=lease_seconds))
        found = list(old.values_list("id", "lease"))
        return sound(now, lease_seconds) + sum(
            finish.lost(job_id, lease, whole_worker=True, reason="too old", now=now) is not None
            for job_id, lease in found
        )

    with patch.object(rescue, "rescue_dead", by_age):
        yield


@contextmanager
def limit_counted_without_its_lock() -> Iterator[None]:
    """The rounds read the lock rows but do not lock them."""

    def unlocked(names: Iterable[str]) -> dict[str, DispatchLock]:
        return {name: DispatchLock.objects.get_or_create(name=name)[0] for name in sorted(set(names))}

    with patch.object(limits, "take", unlocked):
        yield


@contextmanager
def message_trusted_without_its_row() -> Iterator[None]:
    """Whatever a message names is run."""

    def trusting(job_id: UUID, lease: int, worker_id: UUID | None = None) -> Any:
        now = clock.now()
        Job.objects.filter(id=job_id).update(
            state=State.RUNNING,
            lease=lease,
            worker_id=worker_id,
            hold="",
            started_at=now,
            finished_at=None,
            updated_at=now,
        )
        row = Job.objects.get(id=job_id)
        return row, registry.get(row.app_id, row.job_type)

    with patch.object(run, "begin", trusting):
        yield


@contextmanager
def progress_without_its_lease() -> Iterator[None]:
    """Progress is written to whatever run the job has now."""
    sound = transitions.progress

    def trusting(job_id: UUID, lease: int, *args: Any) -> bool:
        current = Job.objects.filter(id=job_id).values_list("lease", flat=True).first() or lease
        return sound(job_id, current, *args)

    with patch.object(transitions, "progress", trusting):
        yield


@contextmanager
def completed_after_a_cancel() -> Iterator[None]:
    """A handler that returned is believed, though somebody had cancelled it."""
    sound = finish.verdict.judge

    def forgetful(job: Any, ending: Any, *args: Any) -> Any:
        if ending.kind == "completed":
            job.cancel_reason = ""
            Job.objects.filter(id=job.id).update(cancel_reason="", cancel_requested_at=None)
        return sound(job, ending, *args)

    with patch.object(finish.verdict, "judge", forgetful):
        yield


# bug: what the machine says of it
BUGS: dict[Callable[[], Any], str] = {
    lease_not_checked_at_finish: "a stale write landed",
    rescue_by_age: "its worker beats",
    limit_counted_without_its_lock: "too many in flight",
    message_trusted_without_its_row: "a run began without its lease",
    progress_without_its_lease: "a stale write landed",
    completed_after_a_cancel: "was cancelled",
}
