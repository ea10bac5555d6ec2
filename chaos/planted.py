"""Bugs to be put into a worker before it starts, to see that a line of the table catches each of them."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from datetime import timedelta
from typing import Any
from uuid import UUID

from jobsplatform.kernel import clock, config
from tasks import finish, finish_many, pack, rescue, run, transitions
from tasks.models import Job
from tasks.outcomes import Ending
from tasks.sql import writes
from tasks.states import State


def no_lease_check() -> None:
    """A run's end is written whoever holds the lease by now: each is written under the lease that the row has."""
    complete, complete_and_start = writes.complete, writes.complete_and_start

    def trusting(runs: Sequence[Any]) -> list[Any]:
        leases = leases_of([run.job_id for run in runs])
        return [run._replace(lease=leases.get(run.job_id, run.lease)) for run in runs]

    def complete_anyway(runs: Sequence[Any], *more: Any) -> Any:
        return complete(trusting(runs), *more)

    def complete_anyway_and_start(run: Any, *more: Any) -> Any:
        return complete_and_start(trusting([run])[0], *more)

    writes.complete = complete_anyway  # type: ignore[assignment]
    writes.complete_and_start = complete_anyway_and_start  # type: ignore[assignment]


def leases_of(job_ids: Sequence[UUID]) -> dict[UUID, int]:
    """The leases of these jobs as they are now."""
    return dict(Job.objects.filter(id__in=job_ids).values_list("id", "lease"))


def rescue_by_age() -> None:
    """A job that runs longer than a lease is taken back, though its worker's heart beats."""
    sweep = rescue.sweep

    def sweep_by_age(now: Any) -> int:
        since = now - timedelta(seconds=config.get().tasks.lease_seconds)
        for job in Job.objects.filter(state=State.RUNNING, started_at__lt=since):
            finish.lost(job.id, job.lease, whole_worker=True, reason="ran too long", now=now)
        return sweep(now)

    rescue.sweep = sweep_by_age


def message_trusted() -> None:
    """What a message names is started, whether or not the row waits for that."""

    def start(job_id: Any, lease: int, now: Any, *, worker_id: Any = None) -> Job | None:
        job = writes.start(job_id, lease, worker_id, now)
        return job or Job.objects.filter(id=job_id, started_at__isnull=False).first()

    transitions.start = start


def finish_before_flush() -> None:
    """The end of a run is written before its work is done."""

    def perform(job: Job, handler: Any, port: Any) -> Ending:
        ending = Ending("completed")
        if finish_many.is_plain(job, ending):
            finish_many.complete_many([finish_many.Done(job, ending, clock.now())])
        return true_perform(job, handler, port)

    true_perform = run.perform
    run.perform = perform
    assert pack.run is run


@dataclass(frozen=True, slots=True)
class Bug:
    """``caught_by``: the fault whose line must break, with one of ``signs`` in what it says. ``about``: what is
    wrong."""

    plant: Callable[[], None]
    caught_by: str
    signs: tuple[str, ...]
    about: str


BUGS = {
    "no-lease-check": Bug(
        no_lease_check,
        "worker-frozen",
        # Which of the two depends on whether the run that held the lease was let go on.
        ("before its work was done", "that run did not end in the file"),
        "an end is written whoever holds the lease",
    ),
    "rescue-by-age": Bug(
        rescue_by_age,
        "child-frozen",
        ("were taken from a worker whose heart beats",),
        "jobs are rescued by their age",
    ),
    "message-trusted": Bug(
        message_trusted, "delivered-five-times", ("times under lease",), "what a message names is started"
    ),
    "finish-before-flush": Bug(
        finish_before_flush,
        "child-killed",
        ("that run did not end in the file",),
        "the end is written before the work is done",
    ),
}
